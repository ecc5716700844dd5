/** One process on a local file under load, with one fault after the other. See docs/delivery.md. */
import { createClient } from '@libsql/client'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recount } from '../../../scripts/recount/recount.ts'
import { freePort } from '../../../src/lib/free-port.ts'
import { day } from '../../../src/lib/time.ts'
import type { FaultySettings } from '../../support/faulty-server.ts'
import { type Runtime, type ServerProcess, startProgram, temporaryDatabase } from '../../support/process.ts'
import { seedAgents } from '../../support/seed-agents.ts'
import { smallDisk } from '../../support/small-disk.ts'
import { waitFor } from '../../support/wait-for.ts'
import { drain, historyOf, inTurn, type Load, read, send } from '../chaos/clients.ts'
import { type Expectations, faultsOf, Ledger } from '../chaos/ledger.ts'
import { generator } from '../chaos/plan.ts'
import { get } from '../client.ts'
import { pause } from '../load.ts'

export const kinds = ['kill', 'full', 'fsync', 'write', 'clock'] as const
type Kind = (typeof kinds)[number]

export interface FaultsOptions {
  seed: number
  rounds: number
  runtime: Runtime
}

/** The size of the separate disk: large enough for the logs of a long run, and small enough to fill quickly. */
const diskMegabytes = 96

/** Runs the test. Resolves to the violations, the check of the database, and the figures. */
export async function faults({ seed, rounds, runtime }: FaultsOptions) {
  const random = generator(seed)
  const files = temporaryDatabase()
  const disk = smallDisk(diskMegabytes)
  const library = preloaded(files.folder)
  const data = join(disk?.folder ?? files.folder, 'data')
  mkdirSync(data, { recursive: true })
  const path = join(data, 'grid.db')
  // The file is in the database's folder, because on Deno a server can read only that folder.
  const control = join(data, 'faults.json')
  const obey = (settings: FaultySettings) => {
    // The new file is renamed into place, so that the process never reads a partial file.
    writeFileSync(`${control}.new`, JSON.stringify(settings))
    renameSync(`${control}.new`, control)
  }
  obey({})
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const env = {
    DATABASE_URL: `file:${path}`,
    PORT: `${port}`,
    CALLS_PER_SECOND: '0',
    LOG_LEVEL: 'error',
  }
  const { agents: [one, two, ...senders] } = await seedAgents(env.DATABASE_URL, ['one', 'two', 'mcp', 'bare', 'a2a'])
  const start = (more: Record<string, string> = {}) =>
    startProgram('test/support/faulty-server.ts', [control], { ...env, ...more }, runtime)

  const ledger = new Ledger()
  const sending = new AbortController()
  const reading = new AbortController()
  const load: Load = { base, ledger, ended: sending.signal }
  const named = [one, two, ...senders].map(({ alias, key }) => ({ alias: alias.slice(1), key }))
  const [first, second, mcp, bare, a2a] = named
  const targets = inTurn([first, second].map(({ alias }) => ({ to: alias, inboxes: [alias] })))
  const sent = [
    send(load, mcp, targets, { protocol: 'mcp', hasKey: true }),
    send(load, bare, targets, { protocol: 'mcp', hasKey: false }),
    send(load, a2a, targets, { protocol: 'a2a', hasKey: true }),
  ]
  const reads = [first, second].map((agent) => read({ ...load, ended: reading.signal }, agent))

  const done: Record<Kind, number> = { kill: 0, full: 0, fsync: 0, write: 0, clock: 0 }
  const exits: (number | null)[] = []
  /** Resolves after `count` more messages were acknowledged. */
  const flowing = (count: number) => {
    const from = ledger.acknowledged().length
    return waitFor('acknowledged messages', () => ledger.acknowledged().length >= from + count)
  }
  const isReady = (status: number) => async () => (await get(base, '/readyz').catch(() => undefined))?.status === status

  const run: Record<Kind, () => Promise<void>> = {
    async kill() {
      const server = await start()
      await flowing(1)
      await pause(random() * 300)
      server.signal('SIGKILL')
      await server.ended
    },
    async full() {
      const server = await start()
      await flowing(3)
      if (disk) disk.fill(random() < 0.5 ? 0 : 3 * 2 ** 20)
      else obey({ fails: 'full' })
      await waitFor('a full disk', isReady(503))
      await pause(random() * 300)
      if (disk) disk.clear()
      else obey({})
      await waitFor('space', isReady(200))
      await flowing(3)
      exits.push(await stopped(server))
    },
    fsync: () => dies('fsync'),
    write: () => dies('write'),
    async clock() {
      const server = await start()
      await flowing(3)
      // Jumps are shorter than the lifetime of idempotency keys, even the second jump, which resets the clock.
      obey({ clockMs: Math.round((random() < 0.5 ? 6 : -6) * random() * day) })
      await flowing(5)
      if (random() < 0.5) exits.push(await stopped(server))
      else {
        server.signal('SIGKILL')
        await server.ended
      }
      obey({})
    },
  }

  /** Makes the disk fail during a commit. The process must exit by itself. */
  async function dies(call: 'fsync' | 'write'): Promise<void> {
    const after = `${Math.ceil(20 + random() * 60)}`
    const env: Record<string, string> = library
      ? { LD_PRELOAD: library, EIO_ON: call, EIO_AFTER: after, EIO_PATH: path }
      : {}
    const server = await start(env).catch((error: Error) => {
      // A start also writes, so the fault may occur during the start, above all if there are leases to release.
      if (!error.message.includes('ended with 70')) throw error
    })
    if (!server) return
    if (!library) {
      await flowing(1)
      obey({ fails: call })
    }
    const { code } = await server.ended
    obey({})
    if (code !== 70) ledger.surprises.push(`EIO on ${call} ended the process with ${code}`)
  }

  try {
    for (let round = 0; round < rounds; round++) {
      // A short run has each kind of fault once. A long run adds random kinds.
      const kind = round < kinds.length ? kinds[round] : kinds[Math.floor(random() * kinds.length)]
      await run[kind]()
      done[kind]++
    }
    const server = await start()
    await flowing(1)
    sending.abort()
    for (const { refusals } of await Promise.all(sent)) ledger.surprises.push(...refusals)
    reading.abort()
    await Promise.all(reads)
    const inboxes = [first, second]
    for (const agent of inboxes) await drain(base, ledger, agent)
    const histories = new Map()
    for (const agent of inboxes) histories.set(agent.alias, await historyOf(base, ledger, agent, '999999d'))
    exits.push(await stopped(server))
    const expectations: Expectations = { everyLease: false, inOrder: inboxes.map(({ alias }) => alias) }
    const found = faultsOf(ledger, histories, expectations)
    return {
      found,
      exits: exits.filter((code) => code !== 0),
      database: await integrity(path),
      differences: await recount({ url: `file:${path}` }, { withHistory: false }),
      figures: {
        seed,
        rounds: done,
        disk: disk ? 'a small one in memory' : 'simulated',
        eio: library ? 'preloaded' : 'simulated',
        sent: ledger.sent.length,
        acknowledged: ledger.acknowledged().length,
        unknown: ledger.unknown,
        lost: found.lost.length,
        doubled: found.storedTwice.length + found.leasedTwice.length,
        outOfOrder: found.outOfOrder.length + found.leasedOutOfOrder.length,
      },
    }
  } finally {
    sending.abort()
    reading.abort()
    disk?.remove()
    files.remove()
  }
}

async function stopped(server: ServerProcess): Promise<number | null> {
  return (await server.stop()).code
}

/** Returns the path of a library that makes system calls fail, or undefined without a C compiler. */
function preloaded(folder: string): string | undefined {
  const library = join(folder, 'eio.so')
  spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, 'scripts/faults/eio.c', '-ldl'])
  return existsSync(library) ? library : undefined
}

async function integrity(path: string) {
  const client = createClient({ url: `file:${path}` })
  const { rows } = await client.execute('PRAGMA integrity_check')
  client.close()
  return rows.map((row) => row.integrity_check)
}
