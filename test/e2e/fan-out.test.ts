import { expect, test } from 'vitest'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/store.ts'
import { isLong } from '../support/long.ts'
import { startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { Ledger, pause, sendUntilGone } from './load.ts'

const rounds = isLong ? 6 : 2
/** With the sender, these recipients fill a channel to its maximum of 500 members. */
const recipients = 499

test('a post to a channel of 500 reaches all members or none after kill -9', async () => {
  const database = temporaryDatabase()
  const deps = processDeps(readConfig({ DATABASE_URL: database.url, LOG_LEVEL: 'warn' }))
  const aliases = Array.from({ length: recipients + 1 }, (_, n) => `member-${n}`)
  const senders = (await seedAgents(database.url, aliases, 'general')).agents.slice(0, 2)
  const ledger = new Ledger()

  for (let round = 0; round < rounds; round++) {
    const server = await startServe('node', { DATABASE_URL: database.url })
    const load = sendUntilGone(server.url, senders, '#general', ledger)
    // In the first round, the server is killed before any post is acknowledged.
    if (round > 0) await load.firstAnswer
    await pause(Math.random() * 60)
    server.signal('SIGKILL')
    await Promise.all([load.done, server.ended])
  }

  const store = await openStore(deps)
  const [posts] = await store.write([{
    sql:
      `SELECT body, (SELECT count(*) FROM deliveries WHERE deliveries.seq = messages.seq) AS recipients FROM messages`,
    args: [],
    rows: 0,
  }])
  await store.close()
  database.remove()
  const stored = posts.map(({ body }) => String(body))

  expect(ledger.acknowledged.size).toBeGreaterThanOrEqual(rounds - 1)
  expect(new Set(posts.map((post) => Number(post.recipients)))).toEqual(new Set([recipients]))
  expect([...ledger.acknowledged].filter((text) => !stored.includes(text))).toEqual([])
  expect(stored).toHaveLength(new Set(stored).size)
}, 600_000)
