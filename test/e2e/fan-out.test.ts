import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/store.ts'
import { castBefore } from '../support/cast.ts'
import { startServe, temporaryPlace } from '../support/process.ts'
import { Ledger, sendUntilGone } from './load.ts'

const rounds = 6
/** With the sender 500, the most a channel may have. */
const recipients = 499

test('Q14: kill -9 during a fan-out to a channel of 500: all or none', async () => {
  const place = temporaryPlace()
  const deps = processDeps(readConfig({ DATABASE_URL: place.url, LOG_LEVEL: 'warn' }))
  const aliases = Array.from({ length: recipients + 1 }, (_, n) => `member-${n}`)
  const senders = (await castBefore(place.url, aliases, 'general')).agents.slice(0, 2)
  const ledger = new Ledger()

  for (let round = 0; round < rounds; round++) {
    const server = await startServe('node', { DATABASE_URL: place.url })
    const load = sendUntilGone(server.url, senders, '#general', ledger)
    // The first round ends before anything was acknowledged, in the middle of a first post or before it.
    if (round > 0) await load.firstAnswer
    await sleep(Math.random() * 60)
    server.signal('SIGKILL')
    await Promise.all([load.done, server.ended])
  }

  const store = await openStore(deps)
  const [posts] = await store.write([{
    sql: `SELECT body, (SELECT count(*) FROM deliveries WHERE message_id = messages.id) AS recipients FROM messages`,
    args: [],
    rows: 0,
  }])
  await store.close()
  place.remove()
  const stored = posts.map(({ body }) => String(body))

  expect(ledger.acknowledged.size).toBeGreaterThanOrEqual(rounds - 1)
  expect(new Set(posts.map((post) => Number(post.recipients)))).toEqual(new Set([recipients]))
  expect([...ledger.acknowledged].filter((text) => !stored.includes(text))).toEqual([])
  expect(stored).toHaveLength(new Set(stored).size)
}, 600_000)
