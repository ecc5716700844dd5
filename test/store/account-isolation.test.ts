/** Account isolation: scoped statements, foreign keys and the tripwire. See docs/security.md, "Four nets". */
import { beforeEach, expect, test } from 'vitest'
import { noToken } from '../../src/store/account/agents.ts'
import { allQueries } from '../../src/store/sql.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { allowedCrossAccountQueries, tripwire } from '../support/tripwire.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('the cross-account queries of the store are exactly those that the tripwire allows', () => {
  const names = allQueries.flatMap(({ crossAccount }) => crossAccount ?? [])

  // Several statements of one unit share a name, so duplicates are removed.
  expect([...new Set(names)].sort()).toEqual([...allowedCrossAccountQueries].sort())
})

test.each([
  'SELECT * FROM agents',
  'SELECT id FROM agents WHERE alias = ?',
  'select "id" from `agents` where "alias" = ?',
  'SELECT m.body FROM accounts a JOIN messages m ON m.account_id = a.id',
  'UPDATE agents SET visibility = ?',
  'UPDATE agents SET account_id = ? WHERE id = ?',
  'DELETE FROM deliveries WHERE seq > ?',
  'INSERT INTO agent_skills (agent_id) VALUES (?)',
  'SELECT id FROM agents WHERE account_id = account_id',
  'SELECT id FROM agents WHERE account_id <> ?',
  // Only another branch of the statement names the account.
  'SELECT id FROM agents WHERE account_id = ? UNION ALL SELECT id FROM channels WHERE id = ?',
  'SELECT id FROM agents WHERE account_id = ? OR alias = ?',
  'SELECT id FROM agents WHERE NOT (account_id = ?)',
  'SELECT id, account_id = ? FROM agents',
  'SELECT a.id FROM agents a JOIN messages m ON m.from_agent_id = a.id WHERE a.account_id = ?',
  'SELECT a.id FROM agents a JOIN messages m ON m.account_id = ? OR m.from_agent_id = a.id WHERE a.account_id = ?',
  'SELECT a.id FROM agents a, messages m WHERE a.account_id = ?',
  'SELECT a.id FROM agents a JOIN agents b ON b.account_id = a.account_id, messages m WHERE a.account_id = ?',
  'SELECT a.id FROM agents a LEFT JOIN messages m ON m.account_id = a.account_id AND a.account_id = ?',
  'SELECT m.id FROM messages m JOIN held_messages d ON d.message_id = m.id WHERE d.account_id = ?',
  // The column account_id could belong to either table, so the tripwire must stop the statement.
  'SELECT messages.id FROM messages JOIN held_messages ON message_id = messages.id WHERE account_id = ?',
  'SELECT id FROM agents WHERE account_id = ? AND id IN (SELECT agent_id FROM deliveries WHERE seq > ?)',
  'SELECT id FROM agents WHERE account_id = ? AND EXISTS (SELECT 1 FROM trials WHERE trials.agent_id = agents.id)',
  'SELECT (SELECT count(*) FROM messages) FROM agents WHERE account_id = ?',
  'SELECT id FROM (SELECT id FROM agents) WHERE account_id = ?',
  'WITH old AS (SELECT id FROM agents) SELECT id FROM channels WHERE account_id = ?',
  'INSERT INTO skills (account_id, id) SELECT ?, id FROM skills WHERE name = ?',
  'INSERT INTO skills (account_id, id) SELECT ?, id FROM skills WHERE name = ? ON CONFLICT DO UPDATE SET id = ? WHERE account_id = ?',
  'INSERT INTO skills (id, name) SELECT id, name FROM skills WHERE account_id = ?',
  'UPDATE agents SET alias = (SELECT name FROM channels WHERE id = ?) WHERE account_id = ?',
  "SELECT id FROM agents WHERE alias = 'account_id = ?' -- account_id = ?",
  'SELECT seq FROM deliveries WHERE inbox = ?',
  'SELECT seq FROM deliveries WHERE inbox IN (SELECT n FROM agent_numbers WHERE account_id = ?)',
  'SELECT seq FROM deliveries WHERE inbox = (SELECT n FROM agent_numbers WHERE agent_id = ?)',
  'SELECT seq FROM deliveries WHERE inbox = (SELECT automated FROM agents WHERE account_id = ?)',
  'SELECT d.seq FROM deliveries d JOIN agent_numbers a ON d.inbox = a.n',
  'SELECT d.seq FROM deliveries d JOIN messages m ON m.seq = d.seq',
  'SELECT seq FROM deliveries WHERE seq = ?',
  'DELETE FROM deliveries WHERE seq IN (SELECT seq FROM messages WHERE id = ?)',
  'DELETE FROM deliveries WHERE seq IN (SELECT seq FROM log WHERE kind = ?)',
  'SELECT t.thread_id FROM thread_messages t JOIN messages m ON m.seq = t.seq WHERE m.account_id = ?',
])('the tripwire stops an unscoped statement before it runs: %s', async (statement) => {
  await expect(rows(grid, statement)).rejects.toThrow('Tripwire')
})

test.each([
  'SELECT id FROM agents WHERE (agents.account_id = ? AND (alias = ? OR id = ?))',
  'select "id" from "agents" where "agents"."account_id" = ?',
  'SELECT a.id FROM agents a LEFT JOIN signups s ON s.account_id = a.account_id WHERE a.account_id = ?',
  'SELECT m.id FROM deliveries d JOIN messages m ON m.seq = d.seq WHERE d.account_id = ?',
  'DELETE FROM deliveries WHERE seq IN (SELECT seq FROM messages WHERE account_id = ? AND id = ?)',
  'SELECT a.agent_id FROM deliveries d JOIN agent_numbers a ON a.n = d.inbox WHERE d.account_id = ?',
  'SELECT (SELECT count(*) FROM agents b WHERE b.account_id = a.account_id) FROM agents AS a WHERE ? = a.account_id',
  'SELECT a.id FROM accounts c JOIN agents a ON a.account_id = c.id WHERE c.id = ?',
  'INSERT INTO skills (account_id, id) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM skills WHERE account_id = ?)',
  'SELECT seq FROM deliveries WHERE inbox = (SELECT n FROM agent_numbers WHERE account_id = ? AND agent_id = ?)',
  'SELECT d.seq FROM agent_numbers a JOIN deliveries d ON d.inbox = a.n WHERE a.account_id = ?',
])('the tripwire allows a statement that names the account in every branch: %s', (statement) => {
  expect(() => tripwire(statement)).not.toThrow()
})

test('every branch of every store statement names its account, including statements that no test runs', () => {
  for (const { sql, crossAccount } of allQueries) tripwire(sql, crossAccount)

  expect(allQueries.length).toBeGreaterThan(300)
})

test("the insert of an agent refuses an alias of another account's deleted agent", async () => {
  const { agents: { add } } = grid.evil.store.change
  const agent = (alias: string) => ({
    ...{
      id: alias,
      alias,
      type: 'mcp' as const,
      visibility: 'private' as const,
      accessPolicy: 'auto_approve' as const,
    },
    ...{ description: '', remoteUrl: null, signupId: null, createdAt: 1, ...noToken },
  })
  await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ?', [grid.acme.id])

  await grid.evil.store.write([...add(agent('alice')), ...add(agent('fresh'))])

  expect(await rows(grid, "SELECT id FROM agents WHERE account_id = ? AND alias <> 'eve'", [grid.evil.id]))
    .toEqual([{ id: 'fresh' }])
})

test.each(['agents', 'channel_members', 'agent_skills', 'trials', 'credentials', 'messages', 'agent_access'])(
  'a foreign key refuses a row of %s that references another account',
  async (table) => {
    const id = grid.eve.id
    const columns: Record<string, Record<string, string | number>> = {
      agents: {
        id: 'new',
        alias: 'new',
        type: 'mcp',
        visibility: 'private',
        access_policy: 'auto_approve',
        signup_id: 'x',
      },
      channel_members: { channel_id: 'c', agent_id: id, joined_at: 1 },
      agent_skills: { agent_id: id, skill_id: 's' },
      trials: { agent_id: id, max: 1, expires_at: 1 },
      credentials: { id: 'k', kind: 'agent_key', agent_id: id, hash: 'h', last4: 'l' },
      messages: { id: 'm', from_agent_id: id, from_alias: 'eve', type: 'agent', recipient: '@a', body: 'b' },
      agent_access: { agent_id: id, alias: 'a' },
    }
    const hasTime = ['agents', 'credentials', 'messages'].includes(table)
    const row = { account_id: grid.acme.id, ...columns[table], ...(hasTime && { created_at: 1 }) }
    await grid.store.write([
      { sql: "INSERT INTO skills (account_id, id, name, created_at) VALUES (?, 's', 's', 1)", args: [grid.acme.id] },
      { sql: "INSERT INTO channels (account_id, id, name, created_at) VALUES (?, 'c', 'c', 1)", args: [grid.acme.id] },
    ])

    const insert = `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`

    await expect(rows(grid, insert, Object.values(row))).rejects.toMatchObject({ code: 'write_conflict' })
  },
)
