/**
 * Agents reserve overlapping names concurrently, on servers that are killed. Two agents must never hold the same name.
 * `npm run lab -- reservations` runs the test longer.
 */
import process from 'node:process'
import { expect, test } from 'vitest'
import { overlaps } from '../../src/lib/name-patterns.ts'
import { isLong } from '../support/long.ts'
import { type Runtime, type ServerProcess, startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { startSqld } from '../support/sqld.ts'
import { waitFor } from '../support/wait-for.ts'

const wanted = Number(process.env.RESERVATIONS ?? 500)
const kills = Number(process.env.RESERVATION_KILLS ?? 2)
const agentCount = 12
/** Different patterns, most of which overlap with others. */
const patterns = ['src/**', 'src/*', 'src/a?', '**/b', 'src/a/*', '*/a/b', 'src/b', 'docs/**', 'docs/?', '*/b', 'c/*/d']

interface Held {
  agent: number
  name: string
}

/** The reservations that are certainly held: they are confirmed, and their release has not begun. */
class Holdings {
  readonly #held = new Set<Held>()
  readonly doubles: [Held, Held][] = []
  granted = 0

  add(agent: number, name: string): Held {
    const one = { agent, name }
    for (const other of this.#held) {
      if (other.agent !== agent && overlaps(other.name, name)) this.doubles.push([one, other])
    }
    this.#held.add(one)
    this.granted++
    return one
  }

  remove(one: Held): void {
    this.#held.delete(one)
  }
}

async function call(url: string, key: string, body: object): Promise<{ status: number; code?: string } | undefined> {
  try {
    const response = await fetch(`${url}/api/v1/reservations`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { error } = await response.json()
    return { status: response.status, code: error?.code }
  } catch {
    // The process was killed, so it is unknown whether the reservation was stored.
    return undefined
  }
}

async function race(database: string, runtimes: readonly Runtime[]): Promise<Holdings> {
  const aliases = Array.from({ length: agentCount }, (_, n) => `worker-${n}`)
  const { agents } = await seedAgents(database, aliases)
  const start = (runtime: Runtime) => startServe(runtime, { DATABASE_URL: database, CALLS_PER_SECOND: '0' })
  const servers: Promise<ServerProcess>[] = []
  for (const runtime of runtimes) servers.push(Promise.resolve(await start(runtime)))
  const holdings = new Holdings()
  let done = 0
  const anyServer = () => servers[Math.floor(Math.random() * servers.length)]

  const work = async (agent: number) => {
    const { key } = agents[agent]
    while (done < wanted) {
      const name = patterns[Math.floor(Math.random() * patterns.length)]
      const { url } = await anyServer()
      const answer = await call(url, key, { names: [name] })
      done++
      killAtTime()
      if (answer?.status !== 200) {
        // Release a reservation whose outcome is unknown, as a restarted program does.
        if (answer === undefined) await giveBack(key, name)
        else expect(['already_reserved', 'unavailable', 'write_conflict']).toContain(answer.code)
        continue
      }
      const held = holdings.add(agent, name)
      // Hold the name for the duration of another call.
      await call((await anyServer()).url, key, { names: [] })
      holdings.remove(held)
      await giveBack(key, name)
    }
  }
  const giveBack = (key: string, name: string) =>
    waitFor('a release', async () => {
      const { url } = await anyServer()
      return (await call(url, key, { names: [name], release: true }))?.status === 200
    })
  let killed = 0
  const killAtTime = () => {
    if (killed === kills || done < wanted * (killed + 1) / (kills + 1)) return
    const which = ++killed % servers.length
    servers[which] = servers[which].then(async (running) => {
      running.signal('SIGKILL')
      await running.ended
      return await start(runtimes[which])
    })
  }
  await Promise.all(agents.map((_, n) => work(n)))
  expect(killed).toBe(kills)
  for (const server of servers) expect((await (await server).stop()).code).toBe(0)
  return holdings
}

test.runIf(isLong || process.env.RESERVATIONS).each<Runtime>(['node', 'bun', 'deno'])(
  'on %s, two agents never hold overlapping names',
  async (runtime) => {
    const database = temporaryDatabase()
    const { doubles, granted } = await race(database.url, [runtime])
    console.log(`${runtime}: ${granted} of ${wanted} reservations held, ${kills} kills, ${doubles.length} held twice`)
    expect(doubles).toEqual([])
    expect(granted).toBeGreaterThan(wanted / 20)
    database.remove()
  },
  1_200_000,
)

test.runIf(isLong || process.env.RESERVATIONS)(
  'two agents never hold overlapping names at three processes on one libsql-server',
  async () => {
    const sqld = await startSqld()
    const { doubles, granted } = await race(sqld.url, ['node', 'bun', 'deno'])
    console.log(
      `libsql-server: ${granted} of ${wanted} reservations held, ${kills} kills, ${doubles.length} held twice`,
    )
    expect(doubles).toEqual([])
    expect(granted).toBeGreaterThan(wanted / 20)
    await sqld.stop()
  },
  1_200_000,
)
