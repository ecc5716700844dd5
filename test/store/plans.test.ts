/** Every store statement uses an index, on a database with many rows and with statistics. */
import { type Client, createClient } from '@libsql/client'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { allQueries } from '../../src/store/sql.ts'
// This import registers every statement.
import '../../src/store/store.ts'

let folder: string
let client: Client

// Uses a separate file and client, because `EXPLAIN` leaves a statement open.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-plans-'))
  client = createClient({ url: `file:${join(folder, 'grid.db')}`, concurrency: 1 })
  await migrate(client)
  await fill(client)
  await client.execute('PRAGMA optimize=0x10002')
})
afterAll(() => {
  client.close()
  rmSync(folder, { recursive: true, force: true })
})

// An index search over all rows of an account or an inbox is not a scan, so the expected indexes are checked by name.
test.each([
  [
    'the messages that can be leased',
    /^INSERT INTO leases (?!.*(?:json_each|messages\.id|conversation_id = )).* OVER /,
    'USING COVERING INDEX deliveries_unread (inbox=?)',
  ],
  [
    'the claim of a lease',
    /^UPDATE deliveries SET state = 'read', lease_id = \?\d, read_at = \?\d, woken_at/,
    'USING COVERING INDEX deliveries_unread (inbox=? AND seq=?)',
  ],
  ['the receipt of a direct message', /^SELECT json_object\('unread'.*recipientUnread/, 'agent_numbers_agent'],
  [
    'the count of unread messages',
    /^SELECT min\(.*agent_numbers\.unread/,
    'agent_numbers_agent (account_id=? AND agent_id=?)',
  ],
  [
    'the recipients of new messages',
    /^SELECT DISTINCT .* AS id FROM messages CROSS JOIN deliveries/,
    'SEARCH messages USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
  ],
  ['the questions of a person', /AS choices, found\.up_to/, 'USING INDEX messages_choices (account_id=?)'],
  ['the newest lease', /^SELECT max\(lease_id\)/, 'USING INDEX deliveries_read'],
  ['an access token by hash', /FROM oauth_tokens JOIN .*LEFT JOIN/, 'USING INDEX oauth_tokens_hash'],
  ['a credential by hash', /FROM credentials LEFT JOIN .*credentials\.hash = \?\d/, 'USING INDEX credentials_hash'],
  ['the message row of a send', /^INSERT INTO messages .* FROM trials/, 'sqlite_autoindex_idempotency_keys'],
  [
    'the fan-out of a post',
    /^INSERT INTO deliveries .* FROM messages CROSS JOIN channel_members/,
    'SEARCH channel_members USING ',
  ],
  [
    'the usage of a day',
    /^INSERT INTO messages .*\busage\./,
    'SEARCH usage USING INDEX usage_day (day=? AND account_id=? AND subject=?)',
  ],
  [
    'what the account sent in each hour',
    /^SELECT at, messages AS count, answers/,
    'PRIMARY KEY (account_id=? AND period_ms=? AND source=? AND target=? AND at>?)',
  ],
  ['the agents of returned messages', /FROM \( SELECT deliveries\.inbox, .*AS came_back/, 'SCAN came_back'],
  ['the agents of parked messages', /FROM \( SELECT deliveries\.inbox, .*AS lost/, 'SCAN lost'],
  [
    'the answers of an agent',
    /^SELECT traffic\.at, coalesce\(/,
    'SEARCH traffic USING PRIMARY KEY (account_id=? AND period_ms=? AND source=?)',
  ],
  ['the newest threads', /FROM \( ?SELECT threads\.id FROM threads WHERE/, 'USING INDEX threads_newest'],
  [
    'a page of a thread',
    /^WITH near AS MATERIALIZED \( SELECT \* FROM \( SELECT thread_messages\.seq/,
    'USING PRIMARY KEY (thread_id=? AND seq>? AND seq<?)',
  ],
  ['a list of agents', /^(?!.*IN \(SELECT value).*AS oldest_unread_at/, 'agents_of_account (account_id=?'],
  ['what people named', /^SELECT kind, ref, name FROM/, 'SEARCH agents USING INDEX agents_of_account (account_id=?)'],
  ['the newest activity', /FROM activity .*\baccount_id = \?\d AND \(1\)/, '(account_id=? AND n>? AND n<?)'],
])('finds %s by an index', async (_, statement, index) => {
  const found = allQueries.filter(({ sql }) => statement.test(sql))

  expect(found).not.toEqual([])
  for (const { sql } of found) expect(await plan(sql)).toContainEqual(expect.stringContaining(index))
})

test('the waiting messages of a conversation are counted once, however often the query uses the count', async () => {
  const asking = allQueries.filter(({ sql }) => sql.includes('found.waits '))

  expect(asking).toHaveLength(2)
  for (const { sql } of asking) expect(await plan(sql)).toContain('MATERIALIZE found')
})

/** Statements that may scan a table: few rows, or work done rarely. */
const scanned = [
  // Tables with few rows.
  /^SCAN (sqlite_sequence|projections|(agent|message)_search VIRTUAL|instances|leases|signing_keys|newest USING INDEX signing_keys_created|totps|push_keys|oauth_clients)\b/,
  // Subscribed browsers, and pauses without a notice.
  /^SCAN (sub|push_subscriptions|conversation_turns USING INDEX conversation_turns_paused)\b/,
  // Checks whether a table has any row. The accounts are checked one after the other, once an hour.
  /^SCAN (users|passkeys) USING COVERING INDEX/,
  /^SCAN accounts\b/,
]
/** The beginnings of statements that scan a table. */
const reading = [
  // Lists the key ids of stored tokens for the operator.
  /^SELECT token_key_id AS key/,
  // Counts skipped rows for the doctor, and removes them in a repair.
  /^(SELECT count\(\*\) AS rows|DELETE) FROM skipped_rows WHERE follower IN/,
  // Rebuilds the projection, or inspects it for the operator.
  /^(SELECT count\(\*\) AS n FROM messages|UPDATE projections|UPDATE threads SET last_seq = 0|DELETE FROM (traffic|thread_\w+) WHERE \()/,
  // Runs only while no user has a password or a passkey.
  /^SELECT email FROM users WHERE NOT EXISTS/,
  // Counts for metrics, at most once every 10 s.
  /^SELECT \(SELECT coalesce\(sum\(unread\), 0\) FROM agent_numbers\)/,
  // SQLite searches for rows that refer to the inserted one only while a reference is broken, so this scan rarely runs.
  /^INSERT INTO agent_numbers/,
  // Moves a claimed account's agents.
  /^(UPDATE (deliveries|lease_releases) SET account_id|DELETE FROM lease_releases WHERE account_id)/,
]

test('no store statement scans a whole table', async () => {
  const { rows } = await client.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
  const tables = new Set(rows.map(({ name }) => String(name)))
  const scans: { line: string; sql: string }[] = []
  for (const { sql } of allQueries) {
    if (reading.some((start) => start.test(sql))) continue
    for (const line of await plan(sql)) {
      const [, name] = /^SCAN (\w+)/.exec(line) ?? []
      const table = name && (tables.has(name) ? name : new RegExp(`\\b(\\w+) AS ${name}\\b`).exec(sql)?.[1])
      if (table && tables.has(table) && !scanned.some((few) => few.test(line))) scans.push({ line, sql })
    }
  }

  expect(allQueries.length).toBeGreaterThan(500)
  expect(scans).toEqual([])
})

// Also tests a fresh database, which gets statistics only when a process opens it with rows in it.
test('no statement reads all rows of an account for each value of a list', async () => {
  const fresh = createClient({ url: `file:${join(folder, 'fresh.db')}`, concurrency: 1 })
  await migrate(fresh)
  // A statement may read all guardrails of an account, because an account has only a few.
  const isRead = (line: string, at: number, lines: string[]) =>
    /^SCAN \w+ VIRTUAL TABLE INDEX 1:$/.test(line) &&
    /^SEARCH (?!guardrails )\w+ USING .*\(account_id=\?\)$/.test(lines[at - 1] ?? '')
  const found: string[] = []
  for (const { sql } of allQueries) {
    for (const on of [client, fresh]) if ((await plan(sql, on)).some(isRead)) found.push(sql)
  }
  fresh.close()

  expect(found).toEqual([])
})

async function plan(sql: string, on = client): Promise<string[]> {
  const numbers = Array.from(sql.matchAll(/\?(\d+)/g), ([, n]) => Number(n))
  const args = Array(Math.max(0, ...numbers)).fill('x')
  const { rows } = await on.execute({ sql: `EXPLAIN QUERY PLAN ${sql}`, args })
  return rows.map(({ detail }) => String(detail))
}

/** Fills 20 accounts with 20 agents each and 6,000 messages. One in ten is unread. */
async function fill(client: Client): Promise<void> {
  const numbers = (to: number) => `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${to - 1})`
  const account = "'account ' || (i % 20)"
  const agent = "'agent ' || (i % 400)"
  await client.migrate([
    `INSERT INTO accounts (id, name, state, created_at) ${
      numbers(20)
    } SELECT 'account ' || i, 'x', 'claimed', i FROM n`,
    `INSERT INTO signups ${
      numbers(400)
    } SELECT ${account}, 'signup ' || i, 'x', '10.0.0.' || (i % 100), 'token ' || i, i FROM n`,
    `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at) ${numbers(400)}
      SELECT ${account}, ${agent}, 'alias-' || i, 'mcp', iif(i % 50, 'private', 'public'), 'auto_approve', i FROM n`,
    'INSERT INTO agent_numbers (account_id, agent_id) SELECT account_id, id FROM agents',
    `INSERT INTO credentials (account_id, id, kind, agent_id, hash, last4, created_at) ${numbers(800)}
      SELECT ${account}, 'key ' || i, 'agent_key', ${agent}, 'hash ' || i, 'last', i FROM n`,
    `INSERT INTO skills ${numbers(400)} SELECT ${account}, 'skill ' || i, 'skill ' || i, '', i FROM n`,
    `INSERT INTO agent_skills ${numbers(400)} SELECT ${account}, ${agent}, 'skill ' || i FROM n`,
    `INSERT INTO channels (account_id, id, name, created_at) ${
      numbers(100)
    } SELECT ${account}, 'channel ' || i, 'c' || i, i FROM n`,
    `INSERT INTO channel_members (account_id, channel_id, agent_id, joined_at) ${
      numbers(2_000)
    } SELECT ${account}, 'channel ' || (i % 100), 'agent ' || (i % 20 + 20 * (i / 100)), i FROM n`,
    `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at) ${
      numbers(6_000)
    }
      SELECT ${account}, 'message ' || i, ${agent}, 'alias', 'agent', '@b', 'body', i FROM n`,
    `INSERT INTO deliveries (seq, inbox, account_id, state, chars, created_at, lease_id) ${numbers(6_000)}
      SELECT i + 1, (SELECT n FROM agent_numbers WHERE account_id = ${account} AND agent_id = ${agent}), ${account},
        iif(i % 10, 'read', 'unread'), 4, i, iif(i % 10, 'lease ' || (i / 50), NULL) FROM n`,
    `INSERT INTO idempotency_keys (account_id, agent_id, key, request_hash, sender_account_id, message_id, created_at) ${
      numbers(2_000)
    } SELECT ${account}, ${agent}, 'key ' || i, 'hash', ${account}, 'message ' || i, i FROM n`,
    `INSERT INTO users (id, email, created_at) ${numbers(20)} SELECT 'user ' || i, 'user ' || i, i FROM n`,
    `INSERT INTO memberships (account_id, user_id, role, created_at) ${
      numbers(20)
    } SELECT 'account ' || i, 'user ' || i, 'owner', i FROM n`,
    `INSERT INTO oauth_grants (account_id, id, user_id, client_id, client_name, scope, resource, redirect_uri, code_hash,
      code_challenge, code_expires_at, code_used_at, created_at, expires_at) ${numbers(1_000)}
      SELECT ${account}, 'grant ' || i, 'user ' || (i % 20), 'c', 'c', 'admin', 'r', 'u', 'code ' || i, 'x', i, i, i, i FROM n`,
    `INSERT INTO oauth_tokens (account_id, id, grant_id, kind, hash, parent_id, created_at, expires_at) ${
      numbers(4_000)
    }
      SELECT ${account}, 'token ' || i, 'grant ' || (i % 1000), iif(i % 2, 'access', 'refresh'), 'hash ' || i,
      iif(i > 1000, 'token ' || (i - 1000), NULL), i, i FROM n`,
    `INSERT INTO trials ${numbers(400)} SELECT ${account}, ${agent}, 0, 10, i, NULL FROM n`,
    `INSERT INTO guardrail_counts (account_id, guardrail_id, hour, action, n) ${numbers(6_000)}
      SELECT ${account}, 'guardrail ' || (i / 20 % 10), i / 200, 'blocked', 1 FROM n`,
    `INSERT INTO activity (account_id, n, id, created_at, actor_type, user_id, credential_id, tool, arguments, outcome) ${
      numbers(6_000)
    } SELECT ${account}, i / 20, 'row ' || i, i, 'admin',
      iif(i % 3, 'user ' || (i % 7), NULL), 'key ' || (i % 11), 'tool ' || (i % 13), '{}', iif(i % 9, 'ok', 'internal') FROM n`,
  ])
}
