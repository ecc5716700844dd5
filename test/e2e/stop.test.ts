import { expect, test } from 'vitest'
import { someRuntimes } from '../support/long.ts'
import { startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { faults, Ledger, noFaults, readAll, sendUntilGone } from './load.ts'

test.each(someRuntimes)(
  'after SIGTERM under load on %s, every acknowledged message is stored and the exit code is 0',
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
    // The stop took less than the grace period of 10 s, so no connection delayed it.
    expect(stopMs).toBeLessThan(8_000)
    expect(faults(ledger, times)).toEqual(noFaults)
  },
)
