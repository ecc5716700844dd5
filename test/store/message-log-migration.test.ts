/** The migration of a used database to the log of messages and to numbered inboxes. See docs/operations.md, "Migrations". */
import { type Client, createClient } from '@libsql/client'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import { migrate } from '../../src/store/migrate.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

const before = migrations.slice(0, migrations.findIndex(({ name }) => name.endsWith('_message_log')))

let folder: string
let server: Sqld
beforeAll(async () => {
  server = await startSqld({ isRelaxed: true })
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-message-log-'))
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe.each([
  ['a local file', () => `file:${join(folder, 'grid.db')}`],
  ['libsql-server', () => server.url],
])('on %s', (_, url) => {
  let client: Client
  const read = async (sql: string) => (await client.execute(sql)).rows.map((row) => ({ ...row }))
  beforeEach(async () => {
    client = createClient({ url: url(), concurrency: 1 })
    if ((await read("SELECT 1 FROM sqlite_master WHERE name = '__drizzle_migrations'")).length === 0) await fill(client)
    await migrate(client)
  })
  afterEach(() => client.close())

  test('messages are numbered in the order in which they were delivered', async () => {
    // One was stored by a process whose clock was behind, and one has no delivery.
    expect(await read('SELECT seq, id FROM messages ORDER BY seq')).toEqual([
      { seq: 1, id: 'm1' },
      { seq: 2, id: 'm2' },
      { seq: 3, id: 'nobody' },
      { seq: 4, id: 'post' },
      { seq: 5, id: 'late' },
    ])
  })

  test('nothing of them is lost', async () => {
    const [post] = await read("SELECT * FROM messages WHERE id = 'post'")
    expect(post).toEqual({
      ...{ seq: 4, account_id: 'a', id: 'post', from_agent_id: 'alice', from_alias: 'alice', type: 'system' },
      ...{ recipient: '#general', channel_id: 'c', body: 'a post', reply_to_message_id: 'm1', conversation_id: 'talk' },
      ...{ a2a: '{"x":1}', flagged: 1, created_at: 30, trial_number: 2, sanitized: 1, hops: 3 },
    })
    expect(await read('SELECT message_id, count(*) AS n FROM parts')).toEqual([{ message_id: 'post', n: 1 }])
    expect(await read('SELECT message_id FROM idempotency_keys')).toEqual([{ message_id: 'post' }])
  })

  test('every delivery keeps its place and has the inbox of its agent', async () => {
    const deliveries = await read(`SELECT seq, message_id, state, release_count, lease_id, stranger_id,
      inbox = (SELECT n FROM agent_numbers AS number
        WHERE number.account_id = deliveries.account_id AND number.agent_id = deliveries.agent_id) AS is_own
      FROM deliveries ORDER BY seq`)

    const row = { state: 'unread', release_count: 0, lease_id: null, stranger_id: null, is_own: 1 }
    expect(deliveries).toEqual([
      { ...row, seq: 1, message_id: 'm1', state: 'read', lease_id: 'lease', release_count: 1 },
      { ...row, seq: 2, message_id: 'm2', stranger_id: 'alice' },
      { ...row, seq: 3, message_id: 'post' },
      { ...row, seq: 4, message_id: 'post' },
      { ...row, seq: 5, message_id: 'late' },
    ])
  })

  test('numbers that were given are not given again', async () => {
    const [{ seq }] = await read("SELECT seq FROM sqlite_sequence WHERE name = 'deliveries'")
    expect(seq).toBe(9)
  })

  test('foreign keys hold, and an inbox of another agent is refused', async () => {
    expect(await read('PRAGMA foreign_key_check')).toEqual([])
    await expect(client.execute("UPDATE deliveries SET inbox = inbox + 1 WHERE message_id = 'm1'"))
      .rejects.toMatchObject({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) })
  })

  test('an agent keeps its number when its description changes', async () => {
    const [{ n }] = await read("SELECT n FROM agent_numbers WHERE agent_id = 'alice'")
    await client.execute("UPDATE agents SET description = 'a needle' WHERE id = 'alice'")

    expect(await read("SELECT n FROM agent_numbers WHERE agent_id = 'alice'")).toEqual([{ n }])
    const trigram = `${Buffer.from('a').toString('hex')}x${Buffer.from('eed').toString('hex')}`
    expect(await read(`SELECT rowid AS n FROM agent_search WHERE agent_search MATCH '"${trigram}"'`)).toEqual([{ n }])
  })

  test('a released lease still wakes its agent', async () => {
    await client.execute("UPDATE deliveries SET state = 'unread', lease_id = NULL, release_count = 2 WHERE seq = 1")
    expect(await read('SELECT agent_id FROM wake_signals')).toEqual([{ agent_id: 'bob' }])
  })

  test('people may read in an account that a person made, and not in one that an agent opened', async () => {
    expect(await read('SELECT id, people_read_since FROM accounts ORDER BY id')).toEqual([
      { id: 'a', people_read_since: 0 },
      { id: 'b', people_read_since: null },
      { id: 'c', people_read_since: null },
    ])
  })
})

/** The schema before the step, with messages of every kind. */
async function fill(client: Client): Promise<void> {
  await migrate(client, before)
  const message = (id: string, at: number) =>
    `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at)
      VALUES ('a', '${id}', 'alice', 'alice', 'agent', '@bob', '${id}', ${at})`
  const delivery = (seq: number, account: string, agent: string, id: string, columns = '', values = '') =>
    `INSERT INTO deliveries (seq, account_id, agent_id, sender_account_id, message_id, chars, created_at, state${columns})
      VALUES (${seq}, '${account}', '${agent}', 'a', '${id}', 2, 1, ${values || "'unread'"})`
  await client.migrate([
    `INSERT INTO accounts (id, name, state, created_at)
      VALUES ('a', 'A', 'claimed', 1), ('b', 'B', 'claimed', 1), ('c', 'C', 'provisional', 1)`,
    `INSERT INTO signups (account_id, id, owner_email, address, claim_token_hash, created_at)
      VALUES ('b', 's', 'b@b.example', '', 'h', 1)`,
    `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at) VALUES
      ('a', 'alice', 'alice', 'mcp', 'public', 'auto_approve', 1), ('a', 'bob', 'bob', 'mcp', 'public', 'auto_approve', 1),
      ('b', 'eve', 'eve', 'mcp', 'public', 'auto_approve', 1)`,
    // An agent of an account that was removed had no number.
    "DELETE FROM agent_numbers WHERE agent_id = 'eve'",
    "INSERT INTO channels (account_id, id, name, created_at) VALUES ('a', 'c', 'general', 1)",
    ...[message('late', 5), message('m1', 10), message('m2', 20), message('nobody', 25)],
    `INSERT INTO messages VALUES ('a', 'post', 'alice', 'alice', 'system', '#general', 'c', 'a post', 'm1', 'talk',
      '{"x":1}', 1, 30, 2, 1, 3)`,
    delivery(1, 'a', 'bob', 'm1', ', lease_id, release_count', "'read', 'lease', 1"),
    delivery(2, 'b', 'eve', 'm2', ', stranger_id', "'unread', 'alice'"),
    ...[delivery(3, 'a', 'alice', 'post'), delivery(4, 'a', 'bob', 'post'), delivery(5, 'a', 'bob', 'late')],
    // The newest delivery was removed.
    ...[delivery(9, 'a', 'alice', 'm1'), 'DELETE FROM deliveries WHERE seq = 9'],
    "INSERT INTO parts VALUES ('a', 'post.0', 'post', 'text/plain', 'utf8', 'x', 1)",
    "INSERT INTO idempotency_keys VALUES ('a', 'alice', 'k', 'h', 'post', 30, NULL)",
  ])
}
