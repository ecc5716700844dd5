import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createAccount, enterAccount } from '../../src/grid/accounts.ts'
import { createAgent } from '../../src/grid/agents.ts'
import { createChannel } from '../../src/grid/channels.ts'
import { createLog } from '../../src/log.ts'
import { openStore } from '../../src/store/store.ts'
import { startServe, temporaryPlace } from '../support/process.ts'
import { Ledger, sendUntilGone } from './load.ts'

const rounds = 6
/** With the sender 500, the most a channel may have. */
const recipients = 499

test('Q14: kill -9 during a fan-out to a channel of 500: all or none', async () => {
  const place = temporaryPlace()
  const deps = { config: readConfig({ DATABASE_URL: place.url }), now: Date.now, log: createLog('warn') }
  const senders = await fill()
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

  /** A channel of 500 agents, and two of them. */
  async function fill() {
    const system = { type: 'system', job: 'test' } as const
    const store = await openStore(deps)
    const { id } = await createAccount(store, { name: 'Acme', ownerEmail: 'ann@acme.example' }, system)
    const account = await enterAccount(store, id, system)
    const made = await Promise.all(
      Array.from({ length: recipients + 1 }, (_, n) => createAgent(account, { alias: `member-${n}` })),
    )
    const agents = made.map(({ agent, apiKey }) => ({ alias: agent.alias, key: apiKey }))
    await createChannel(account, { name: 'general', members: agents.map(({ alias }) => alias) })
    await store.close()
    return agents.slice(0, 2)
  }
}, 180_000)
