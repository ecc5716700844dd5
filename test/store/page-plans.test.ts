/** Every query of a page uses an index, on a large account and with statistics. */
import { type Client, createClient } from '@libsql/client'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findConditions } from '../../src/grid/attention.ts'
import { migrate } from '../../src/store/migrate.ts'
import { testGrid } from '../support/grid.ts'
import { tripwire } from '../support/tripwire.ts'

let folder: string
let client: Client
let queries: string[]

beforeAll(async () => {
  queries = await recordQueries()
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

test.each([
  ['the hourly count', /json_each\(\?\) AS hours/, 'COVERING INDEX messages_sent (account_id=? AND created_at>?'],
  [
    'the unread messages per agent',
    /coalesce\(sum\(unread/,
    '(account_id=?)',
  ],
  ['a list of agents', /AS oldest_unread_at/, 'agents_of_account (account_id=?'],
  ['the agents by alias', /0 AS total FROM agents/, 'agents_of_account (account_id=? AND alias>?)'],
  [
    'the agents by their oldest message',
    /min\((deliveries\.)?seq\)/,
    'COVERING INDEX deliveries_unread (inbox=?)',
  ],
  ['the newest activity', /FROM activity .*\baccount_id = \? AND \(1\)/, '(account_id=? AND n>? AND n<?)'],
  ['activity of a tool', /\baccount_id = \? AND \(activity\.tool = /, 'activity_tool'],
  ['activity of a user', /\baccount_id = \? AND \(activity\.user_id = /, 'activity_user'],
  ['activity of a credential', /\baccount_id = \? AND \(activity\.credential_id = /, 'activity_credential'],
  ['failed calls', /\baccount_id = \? AND \(activity\.outcome <> 'ok'/, 'activity_refused'],
  ['changes', /\baccount_id = \? AND \(substr\(activity\.tool, 1, 11\) <> /, 'activity_changes'],
  ['programs in the log', /FROM oauth_grants .*EXISTS \(SELECT 1 FROM activity\b/, 'activity_credential'],
  ['activity since a time', /^SELECT n FROM activity .*\bcreated_at < \?/, 'COVERING INDEX activity_time'],
  ['activity until a time', /^SELECT n FROM activity .*\bcreated_at >= \?/, 'COVERING INDEX activity_time'],
  ['the tools of the log', /min\(activity\.tool\)/, 'COVERING INDEX activity_tool (account_id=? AND tool>?)'],
  [
    'the agents that signed up for an address',
    /\bowner_email = \?\) GROUP BY/,
    'signups USING INDEX signups_owner (owner_email=?)',
  ],
  ['the programs of an agent', /oauth_grants\.agent_id = \?/, 'oauth_grants_agent (account_id=? AND agent_id=?)'],
  [
    'what guardrails did',
    /AS name FROM guardrail_counts/,
    'guardrail_counts_of_account (account_id=? AND hour>?)',
  ],
  ['the oldest unread message of each agent', /from_alias.* FROM \( ?SELECT inboxes/, 'deliveries_unread (inbox=?)'],
  ['messages that come back', /release_count > 2/, 'deliveries_returned (account_id=?)'],
  ['parked messages', /= 'parked'/, 'deliveries_parked (account_id=? AND read_at>?)'],
  [
    'keys that are not used',
    /FROM credentials LEFT JOIN agents .*\brevoked_at IS NULL/,
    'credentials_live (account_id=?',
  ],
  ['guardrails that fail', /\baction = 'failed'/, 'guardrail_counts_of_account (account_id=? AND hour>?)'],
  ['calls that were refused', /\bcallers\./, 'activity_refused (account_id=? AND n>?)'],
  ['where a day begins in the log', /\bcallers\./, 'activity_time (account_id=? AND created_at>?)'],
  ['the users in the log', /min\(activity\.user_id\)/, 'COVERING INDEX activity_user (account_id=? AND user_id>?)'],
])('%s is found by its index', async (_, statement, index) => {
  const found = queries.filter((sql) => statement.test(sql))

  expect(found).not.toEqual([])
  for (const sql of found) expect(await plan(sql)).toContainEqual(expect.stringContaining(index))
})

async function plan(sql: string): Promise<string[]> {
  const args = Array(sql.split('?').length - 1).fill('1')
  const { rows } = await client.execute({ sql: `EXPLAIN QUERY PLAN ${sql}`, args })
  return rows.map(({ detail }) => String(detail))
}

async function recordQueries(): Promise<string[]> {
  const seen = new Set<string>()
  const grid = await testGrid({
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      seen.add(sql)
    },
  })
  const { activity, agentSettings, overview, verdicts } = grid.acme.store.read
  await overview.sentPerHour([0])
  await overview.unread()
  await findConditions(grid.acme.store)
  await verdicts.countsByGuardrail(0)
  for (const order of ['alias', 'oldest', 'unread', 'seen'] as const) {
    await agentSettings.list({ order, limit: 50 })
    await agentSettings.list({ order, search: 'a', limit: 50 })
  }
  const filters = [
    {},
    { tool: 'x' },
    { userId: 'x' },
    { credentialId: 'x' },
    { outcome: 'x' },
    { since: 1, until: 2 },
    {
      isChange: true,
    },
  ]
  for (const filter of filters) await activity.list(filter)
  await grid.store.global.claims.offer('zoe@example.com')
  await grid.acme.store.read.grants.ofAgent('x', 0)
  await activity.tools()
  await activity.users()
  await activity.programs()
  await grid.close()
  return [...seen]
}

/** 20 accounts with 20 agents, 300 messages and 300 rows of activity each. */
async function fill(client: Client): Promise<void> {
  const numbers = (to: number) => `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${to - 1})`
  const account = "'account ' || (i % 20)"
  const agent = "'agent ' || (i % 400)"
  await client.migrate([
    `INSERT INTO accounts (id, name, state, created_at) ${
      numbers(20)
    } SELECT 'account ' || i, 'x', 'claimed', i FROM n`,
    `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at) ${numbers(400)}
      SELECT ${account}, ${agent}, 'alias-' || i, 'mcp', 'private', 'auto_approve', i FROM n`,
    `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at) ${
      numbers(6_000)
    } SELECT ${account}, 'message ' || i, ${agent}, 'alias', 'agent', '@b', 'body', i FROM n`,
    `INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, inbox) ${
      numbers(6_000)
    } SELECT ${account}, ${agent}, ${account}, 'message ' || i, iif(i % 10, 'read', 'unread'), 4, i,
      (SELECT n FROM agent_numbers WHERE account_id = ${account} AND agent_id = ${agent}) FROM n`,
    `INSERT INTO guardrail_counts (account_id, guardrail_id, hour, action, n) ${numbers(6_000)}
      SELECT ${account}, 'guardrail ' || (i / 20 % 10), i / 200, 'blocked', 1 FROM n`,
    `INSERT INTO activity (account_id, n, id, created_at, actor_type, user_id, credential_id, tool, arguments, outcome) ${
      numbers(6_000)
    } SELECT ${account}, i / 20, 'row ' || i, i, 'admin',
      iif(i % 3, 'user ' || (i % 7), NULL), 'key ' || (i % 11), 'tool ' || (i % 13), '{}', iif(i % 9, 'ok', 'internal') FROM n`,
  ])
}
