/** The words of account scoping, and the tripwire behind them. */
import { createClient } from '@libsql/client'
import { count, eq, isNull, max, ne, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/libsql'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { accounts, agents, agentSkills, guardrails } from '../../../db/schema.ts'
import { prepareAccountTables } from '../../../src/store/account.ts'
import { ask, bind, mine, own, p, Scope } from '../../../src/store/driver/binding.ts'
import { prepareGlobalTables } from '../../../src/store/global.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { accountTables, allowedCrossings, tripwire } from '../../support/tripwire.ts'

const client = createClient({ url: 'file::memory:' })
const db = drizzle({ client })
afterAll(() => client.close())

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

test('own() keeps every condition inside the account, also one that says OR', () => {
  const { sql: text } = db.select({ id: agents.id }).from(agents)
    .where(own(agents, isNull(agents.deletedAt), sql`1 = 1 OR 2 = 2`, undefined)).toSQL()

  expect(text).toMatch(
    /where \("agents"\."account_id" = \? and \("agents"\."deleted_at" is null\) and \(1 = 1 OR 2 = 2\)\)$/,
  )
})

test("a scope fills in its own account, whatever the caller's values say", () => {
  const scope = new Scope('acme')
  const query = db.select({ id: agents.id }).from(agents).where(own(agents, eq(agents.id, p('id')))).toSQL()

  expect(scope.bind(query, { id: 'x', account: 'evil' }).args).toEqual(['acme', 'x'])
})

test('mine() stamps a row with the account, which the row may not choose', () => {
  const row = { accountId: 'evil', agentId: 'a', skillId: 's' }
  const query = db.insert(agentSkills).values(mine(row)).toSQL()

  expect(new Scope('acme').bind(query).args).toEqual(['acme', 'a', 's'])
})

test.each([['undefined', undefined], ['an object', {}], ['a list', [1]], ['a date', new Date(0)]])(
  '%s is no value: neither written nor asked for',
  async (_, value) => {
    const query = db.select({ id: agents.id }).from(agents).where(eq(agents.id, p('id')))

    expect(() => bind(query.toSQL(), { id: value as never })).toThrow(TypeError)
    await expect(ask(query.prepare(), { id: value as never })).rejects.toThrow(TypeError)
  },
)

test('a read is answered as drizzle answers it', async () => {
  const here = createClient({ url: 'file::memory:' })
  await migrate(here)
  await here.batch([
    "INSERT INTO accounts (id, name, state, created_at) VALUES ('a', 'Acme', 'claimed', 1), ('b', 'Bee', 'claimed', 2)",
    `INSERT INTO guardrails (account_id, id, name, provider, config, action, on_failure, enabled, created_at)
      VALUES ('a', 'g', 'G', 'patterns', '{"x":[1]}', 'block', 'open', 1, 3)`,
  ])
  const db = drizzle({ client: here })
  const newest = db.select({ at: max(guardrails.createdAt) }).from(guardrails).where(eq(guardrails.id, p('id')))
  const found = db.select({ name: guardrails.name }).from(guardrails).where(eq(guardrails.id, p('id'))).as('found')
  const reads = [
    db.select({ of: accounts.id, config: guardrails.config, on: guardrails.enabled, newest: sql`${newest}`, n: sql`7` })
      .from(accounts).leftJoin(guardrails, eq(guardrails.accountId, accounts.id)).orderBy(accounts.id),
    db.select({ n: count(), last: max(accounts.claimedAt), name: sql<string>`upper(${accounts.name})`.as('loud') })
      .from(accounts).where(ne(accounts.id, p('id'))).groupBy(accounts.name),
    db.select().from(found).unionAll(db.select().from(found)),
    db.select().from(accounts).where(eq(accounts.id, p('id'))),
    db.select({ of: { id: accounts.id, name: accounts.name }, n: sql`1` }).from(guardrails)
      .innerJoin(accounts, eq(guardrails.accountId, accounts.id)),
  ]

  for (const read of reads) {
    const prepared = read.prepare()
    const theirs = await prepared.all({ id: 'g' })
    expect(await ask<unknown>(prepared, { id: 'g' })).toEqual(theirs)
  }
  expect(await ask<unknown>(reads[0].prepare(), { id: 'g' })).toEqual([
    { of: 'a', config: { x: [1] }, on: true, newest: 3, n: 7 },
    { of: 'b', config: null, on: null, newest: 3, n: 7 },
  ])
  here.close()
})

test('a read of an object that a join may not find is refused', async () => {
  const nested = db.select({ id: accounts.id, agent: { id: agents.id } }).from(accounts)
    .leftJoin(agents, eq(agents.accountId, accounts.id)).prepare()

  await expect(ask<unknown>(nested)).rejects.toThrow('A read cannot answer agent.id')
})

test('a read that fails says what the database said, and not the values', async () => {
  const failing = db.select({ id: agents.id }).from(agents).where(eq(agents.id, p('id'))).prepare()

  const error = await ask(failing, { id: 'a secret value' }).catch((error) => error)

  expect(error).toMatchObject({ code: 'SQLITE_ERROR' })
  expect(`${error.message} ${error.stack}`).not.toContain('a secret value')
})

test('the look-ups that cross accounts are exactly those that the tripwire knows', () => {
  const crossings = new Map<string, string>()
  prepareAccountTables(db, crossings)
  prepareGlobalTables(db, crossings)

  expect([...crossings.values()].sort()).toEqual([...allowedCrossings].sort())
})

test('the tables of accounts are read from the schema', () => {
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
])('an unscoped statement is stopped before it runs: %s', async (statement) => {
  await expect(rows(grid, statement)).rejects.toThrow('Tripwire')
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

test('a crossing is let through by its name alone', () => {
  const statement = 'select "id" from "agents" where "alias" = ?'

  expect(() => tripwire(statement, 'live alias')).not.toThrow()
  expect(() => tripwire(statement, 'some other look-up')).toThrow('Tripwire')
})

test.each(['agents', 'channel_members', 'agent_skills', 'trials', 'credentials', 'messages', 'agent_access'])(
  'the database itself refuses a row of %s that points into another account',
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
