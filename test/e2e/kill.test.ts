import { expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { faults, Ledger, noFaults, pause, readAll, sendUntilGone } from './load.ts'

const kills = isLong ? 20 : 5

test(
  `${kills} times kill -9 under load: what was acknowledged is there exactly once, the rest at most once`,
  async () => {
    const database = temporaryDatabase()
    const start = () => startServe('node', { DATABASE_URL: database.url })
    const { agents: [reader, ...senders] } = await seedAgents(database.url, ['reader', 'ada', 'ben', 'cora', 'dan'])
    let server = await start()
    const ledger = new Ledger()

    for (let round = 0; round < kills; round++) {
      const before = ledger.acknowledged.size
      const load = sendUntilGone(server.url, [...senders, ...senders], reader.alias, ledger)
      await load.firstAnswer
      await pause(Math.random() * 250)
      server.signal('SIGKILL')
      await Promise.all([load.done, server.ended])
      expect(ledger.acknowledged.size).toBeGreaterThan(before)
      server = await start()
    }

    const times = await readAll(server.url, reader)
    const stopped = await server.stop()
    database.remove()
    expect(faults(ledger, times)).toEqual(noFaults)
    expect(stopped.code).toBe(0)
  },
  600_000,
)
