import { expect, test } from 'vitest'
import { isLong, someRuntimes } from '../support/long.ts'
import { runtimes, startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { callTool } from './client.ts'
import { faults, Ledger, noFaults, readAll, sendUntilGone } from './load.ts'

const stops = isLong ? 4 : 1

test.each(someRuntimes)(
  'SIGTERM under load on %s: every acknowledged message is there, exit code 0',
  async (runtime) => {
    const database = temporaryDatabase()
    const env = { DATABASE_URL: database.url }
    const { agents: [reader, ...senders] } = await seedAgents(database.url, ['reader', 'ada', 'ben', 'cora', 'dan'])
    const server = await startServe(runtime, env)
    const ledger = new Ledger()

    const load = sendUntilGone(server.url, [...senders, ...senders], reader.alias, ledger)
    await waitFor('50 acknowledged messages', () => ledger.acknowledged.size >= 50)
    const stoppedAt = performance.now()
    const [stopped] = await Promise.all([server.stop(), load.done])
    const stopMs = performance.now() - stoppedAt

    const next = await startServe('bun', env)
    const times = await readAll(next.url, reader)
    await next.stop()
    database.remove()
    expect(stopped.code).toBe(0)
    // Less than the grace period of 10 s: no connection kept the process from ending.
    expect(stopMs).toBeLessThan(8_000)
    expect(faults(ledger, times)).toEqual(noFaults)
  },
)

test.each(runtimes)('requests that were begun before SIGTERM are answered on %s', async (runtime) => {
  const database = temporaryDatabase()
  const { agents: [reader, ...senders] } = await seedAgents(database.url, ['reader', 'ada', 'ben', 'cora', 'dan'])
  const failed: string[] = []
  for (let round = 0; round < stops; round++) {
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    const underWay = new Set<string>()
    const answered: string[] = []
    const send = async (key: string, text: string): Promise<void> => {
      for (let n = 0;; n++) {
        const message = `${text} ${n}`
        underWay.add(message)
        await callTool(server.url, key, 'send_message', { to: reader.alias, message })
        underWay.delete(message)
        answered.push(message)
      }
    }
    const ends = Promise.allSettled([...senders, ...senders].map(({ key }, n) => send(key, `${round} ${n}`)))
    await waitFor('50 answers', () => answered.length >= 50)
    const stopped = server.stop()
    const begun = [...underWay]
    await Promise.all([ends, stopped])
    failed.push(...begun.filter((message) => underWay.has(message)))
  }
  database.remove()

  console.log(`${runtime}: ${failed.length} requests of ${stops} stops were not answered`)
  expect(failed).toEqual([])
})
