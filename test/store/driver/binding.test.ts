/** Binding statements, and running prepared queries. */
import { createClient } from '@libsql/client'
import { count, eq, max, ne, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/libsql'
import { afterAll, expect, test } from 'vitest'
import { accounts, agents, guardrails } from '../../../db/schema.ts'
import { bind, p, runQuery } from '../../../src/store/driver/binding.ts'
import { migrate } from '../../../src/store/migrate.ts'

const client = createClient({ url: 'file::memory:' })
const db = drizzle({ client })
afterAll(() => client.close())

test.each([['undefined', undefined], ['an object', {}], ['a list', [1]], ['a date', new Date(0)]])(
  '%s is not accepted as a value, in a statement or in a query',
  async (_, value) => {
    const query = db.select({ id: agents.id }).from(agents).where(eq(agents.id, p('id')))

    expect(() => bind(query.toSQL(), { id: value as never })).toThrow(TypeError)
    await expect(runQuery(query.prepare(), { id: value as never })).rejects.toThrow(TypeError)
  },
)

test('a query returns what drizzle returns', async () => {
  const migrated = createClient({ url: 'file::memory:' })
  await migrate(migrated)
  await migrated.batch([
    "INSERT INTO accounts (id, name, state, created_at) VALUES ('a', 'Acme', 'claimed', 1), ('b', 'Bee', 'claimed', 2)",
    `INSERT INTO guardrails (account_id, id, name, provider, config, action, on_failure, enabled, created_at)
      VALUES ('a', 'g', 'G', 'patterns', '{"x":[1]}', 'block', 'open', 1, 3)`,
  ])
  const db = drizzle({ client: migrated })
  const newest = db.select({ at: max(guardrails.createdAt) }).from(guardrails).where(eq(guardrails.id, p('id')))
  const found = db.select({ name: guardrails.name }).from(guardrails).where(eq(guardrails.id, p('id'))).as('found')
  const queries = [
    db.select({ of: accounts.id, config: guardrails.config, on: guardrails.enabled, newest: sql`${newest}`, n: sql`7` })
      .from(accounts).leftJoin(guardrails, eq(guardrails.accountId, accounts.id)).orderBy(accounts.id),
    db.select({ n: count(), last: max(accounts.claimedAt), name: sql<string>`upper(${accounts.name})`.as('loud') })
      .from(accounts).where(ne(accounts.id, p('id'))).groupBy(accounts.name),
    db.select().from(found).unionAll(db.select().from(found)),
    db.select().from(accounts).where(eq(accounts.id, p('id'))),
    db.select({ of: { id: accounts.id, name: accounts.name }, n: sql`1` }).from(guardrails)
      .innerJoin(accounts, eq(guardrails.accountId, accounts.id)),
  ]

  for (const query of queries) {
    const prepared = query.prepare()
    const expected = await prepared.all({ id: 'g' })
    expect(await runQuery<unknown>(prepared, { id: 'g' })).toEqual(expected)
  }
  expect(await runQuery<unknown>(queries[0].prepare(), { id: 'g' })).toEqual([
    { of: 'a', config: { x: [1] }, on: true, newest: 3, n: 7 },
    { of: 'b', config: null, on: null, newest: 3, n: 7 },
  ])
  migrated.close()
})

test('a query with a nested object that a join may not find is refused', async () => {
  const nested = db.select({ id: accounts.id, agent: { id: agents.id } }).from(accounts)
    .leftJoin(agents, eq(agents.accountId, accounts.id)).prepare()

  await expect(runQuery<unknown>(nested)).rejects.toThrow('A query cannot return agent.id')
})

test('the error of a failed query is that of the database, and does not contain the values', async () => {
  const failing = db.select({ id: agents.id }).from(agents).where(eq(agents.id, p('id'))).prepare()

  const error = await runQuery(failing, { id: 'a secret value' }).catch((error) => error)

  expect(error).toMatchObject({ code: 'SQLITE_ERROR' })
  expect(`${error.message} ${error.stack}`).not.toContain('a secret value')
})
