/** Account isolation: scoped statements, foreign keys and the tripwire. See docs/security.md, "Four nets". */
import { createClient } from '@libsql/client'
import { eq, isNull, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/libsql'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { agents, agentSkills } from '../../db/schema.ts'
import { noToken } from '../../src/store/account/agents.ts'
import { AccountBinding, p } from '../../src/store/driver/binding.ts'
import { Db } from '../../src/store/sql.ts'
import { inAccount, withAccount } from '../../src/store/in-account-old.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { preparedStatements } from '../support/statements.ts'
import { accountTables, allowedCrossAccountQueries, tripwire } from '../support/tripwire.ts'

const client = createClient({ url: 'file::memory:' })
const db = drizzle({ client })
afterAll(() => client.close())

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

test('inAccount() keeps every condition inside the account, also one with OR', () => {
  const { sql: text } = db.select({ id: agents.id }).from(agents)
    .where(inAccount(agents, isNull(agents.deletedAt), sql`1 = 1 OR 2 = 2`, undefined)).toSQL()

  expect(text).toMatch(
    /where \("agents"\."account_id" = \? and \("agents"\."deleted_at" is null\) and \(1 = 1 OR 2 = 2\)\)$/,
  )
})

test('a binding fills in its own account, whatever values the caller gives', () => {
  const account = new AccountBinding(new Db({ execute: () => Promise.reject() }), 'acme')
  const query = db.select({ id: agents.id }).from(agents).where(inAccount(agents, eq(agents.id, p('id')))).toSQL()

  expect(account.bind(query, { id: 'x', account: 'evil' }).args).toEqual(['acme', 'x'])
})

test('withAccount() sets the account of a row, which the row cannot choose', () => {
  const row = { accountId: 'evil', agentId: 'a', skillId: 's' }
  const query = db.insert(agentSkills).values(withAccount(row)).toSQL()

  expect(new AccountBinding(new Db({ execute: () => Promise.reject() }), 'acme').bind(query).args).toEqual([
    'acme',
    'a',
    's',
  ])
})

test('the cross-account queries are exactly those that the tripwire allows', () => {
  const { crossAccountQueries } = preparedStatements()

  // Several statements of one unit have one name.
  expect([...new Set(crossAccountQueries.values())].sort()).toEqual([...allowedCrossAccountQueries].sort())
})

test('the account tables are read from the schema', () => {
  expect(accountTables).toEqual(expect.arrayContaining(['agents', 'messages', 'deliveries', 'credentials', 'activity']))
  expect(accountTables).not.toContain('accounts')
  expect(accountTables).not.toContain('users')
})

test.each([
  'SELECT * FROM agents',
  'select "id" from "agents" where "alias" = ?',
  'SELECT m.body FROM accounts a JOIN messages m ON m.account_id = a.id',
  'UPDATE agents SET visibility = ?',
  'DELETE FROM `deliveries` WHERE seq > ?',
  'insert into "agent_skills" ("agent_id") values (?)',
  'select "id" from "agents" where "account_id" = "account_id"',
  'select "id" from "agents" where "account_id" <> ?',
  // Another branch of the statement names the account.
  'select "id" from "agents" where "account_id" = ? union all select "id" from "channels" where "id" = ?',
  'select "id" from "agents" where "account_id" = ? or "alias" = ?',
  'select "id" from "agents" where not ("account_id" = ?)',
  'select "id", "account_id" = ? from "agents"',
  'select a.id from agents a join messages m on m.from_agent_id = a.id where a.account_id = ?',
  'select a.id from agents a join messages m on m.account_id = ? or m.from_agent_id = a.id where a.account_id = ?',
  'select a.id from agents a, messages m where a.account_id = ?',
  'select m.id from messages m join deliveries d on d.message_id = m.id where d.account_id = ?',
  'select "id" from "agents" where "account_id" = ? and "id" in (select "agent_id" from "deliveries" where "seq" > ?)',
  'select (select count(*) from "messages") from "agents" where "account_id" = ?',
  'select "id" from (select "id" from "agents") where "account_id" = ?',
  'with old as (select "id" from "agents") select "id" from "channels" where "account_id" = ?',
  'insert into "skills" ("account_id", "id") select ?, "id" from "skills" where "name" = ?',
  'update "agents" set "alias" = (select "name" from "channels" where "id" = ?) where "account_id" = ?',
  'select "id" from "agents" where "alias" = \'account_id = ?\' -- account_id = ?',
  'select "seq" from "deliveries" where "deliveries"."inbox" = ?',
  'select "seq" from "deliveries" where "deliveries"."inbox" in (select "agent_numbers"."n" from "agent_numbers" where "agent_numbers"."account_id" = ?)',
  'select "seq" from "deliveries" where "deliveries"."inbox" = (select "agent_numbers"."n" from "agent_numbers" where "agent_numbers"."agent_id" = ?)',
  'select "seq" from "deliveries" where "deliveries"."inbox" = (select "agents"."automated" from "agents" where "agents"."account_id" = ?)',
  'select d."seq" from "deliveries" d join "agent_numbers" a on d."inbox" = a."n"',
])('an unscoped statement is stopped before it runs: %s', async (statement) => {
  await expect(rows(grid, statement)).rejects.toThrow('Tripwire')
})

test.each([
  'select "id" from "agents" where ("agents"."account_id" = ? and ("alias" = ? or "id" = ?))',
  'select a.id from agents a left join signups s on s.account_id = a.account_id where a.account_id = ?',
  'select m.id from deliveries d join messages m on m.account_id = d.sender_account_id where d.account_id = ?',
  'select (select count(*) from agents b where b.account_id = a.account_id) from agents as a where ? = a.account_id',
  'select a.id from accounts c join agents a on a.account_id = c.id where c.id = ?',
  'insert into "skills" ("account_id", "id") select ?, ? where not exists (select 1 from "skills" where "account_id" = ?)',
  'select "seq" from "deliveries" where "deliveries"."inbox" = (select "agent_numbers"."n" from "agent_numbers" where "agent_numbers"."account_id" = ?)',
  'select d."seq" from "agent_numbers" a join "deliveries" d on d."inbox" = a."n" where a."account_id" = ?',
])('the tripwire lets pass a statement whose every branch names the account: %s', (statement) => {
  expect(() => tripwire(statement, undefined)).not.toThrow()
})

test('every branch of every statement of the store names its account, whether or not a test runs it', () => {
  const { ofAccount, others, crossAccountQueries } = preparedStatements()
  const statements = [...ofAccount.keys(), ...others.keys()]
  for (const text of statements) tripwire(text, crossAccountQueries.get(text))

  expect(statements.length).toBeGreaterThan(300)
})

test('an alias that a deleted agent of another account had is refused by the write itself', async () => {
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

  expect(await grid.evil.store.write([add(agent('alice')), add(agent('fresh'))])).toMatchObject([[], [{}]])
})

test('an unscoped read through drizzle is stopped before it runs', async () => {
  const seen: string[] = []
  const watched = drizzle({
    client,
    logger: {
      logQuery(text) {
        seen.push(text)
        tripwire(text, undefined)
      },
    },
  })

  await expect(watched.select().from(agents)).rejects.toThrow('Tripwire')
  expect(seen).toHaveLength(1)
})

test('a cross-account query is allowed by its name alone', () => {
  const statement = 'select "id" from "agents" where "alias" = ?'

  expect(() => tripwire(statement, 'live alias')).not.toThrow()
  expect(() => tripwire(statement, 'some other query')).toThrow('Tripwire')
})

test.each(['agents', 'channel_members', 'agent_skills', 'trials', 'credentials', 'messages', 'agent_access'])(
  'the database itself refuses a row of %s that references another account',
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
