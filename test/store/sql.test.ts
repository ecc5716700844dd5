import { createClient } from '@libsql/client'
import { afterAll, expect, test } from 'vitest'
import { allQueries, boolean, Db, json, precondition, query, statement } from '../../src/store/sql.ts'

const client = createClient({ url: 'file::memory:', concurrency: 1 })
const registered = allQueries.length
afterAll(() => {
  client.close()
  // Other tests look at every statement of the store.
  allQueries.length = registered
})
const db = new Db(client)

test('parameters are filled in by name, as often as they stand there, and none inside texts and names', async () => {
  const all = query<{ text: string; a: number; b: number; again: number; time: string }>(`
    SELECT ':a' || "text" AS text, :a AS a, :b AS b, :a AS again, '12:30' AS time
    FROM (SELECT ' and  "":b' AS "text")`)

  expect(await db.all(all, { b: 2, a: 1 })).toEqual([{ text: ':a and  "":b', a: 1, b: 2, again: 1, time: '12:30' }])
})

test('rows have the names of the columns in camel case, and decoded values; NULL stays null', async () => {
  const all = query<{ isOn: boolean | null; sentAt: number; a2a: { n: number } | null }>(
    `SELECT 1 AS is_on, 5 AS sent_at, '{"n":1}' AS a2a UNION ALL SELECT NULL, 6, NULL`,
    { isOn: boolean, a2a: json },
  )

  expect(await db.all(all)).toEqual([
    { isOn: true, sentAt: 5, a2a: { n: 1 } },
    { isOn: null, sentAt: 6, a2a: null },
  ])
})

test('the account of the tables wins over a value of that name', () => {
  const bound = db.forAccount('acme').bind(statement('DELETE FROM t WHERE account_id = :account AND id = :id'), {
    account: 'evil',
    id: 'x',
  })

  expect(bound.args).toEqual(['acme', 'x'])
})

test.each([['undefined', undefined], ['an object', {}], ['a list', [1]], ['a date', new Date(0)]])(
  '%s as a value is refused: the native driver would end the process',
  (_, value) => {
    expect(() => db.bind(statement('SELECT :x'), { x: value as never })).toThrow(TypeError)
  },
)

test('a precondition fails its unit unless it holds', async () => {
  await client.execute('CREATE TABLE store_facts (key TEXT NOT NULL, value TEXT NOT NULL)')
  const required = precondition('EXISTS (SELECT 1 FROM store_facts WHERE key = :key)')

  await expect(client.batch([db.bind(required, { key: 'a' })], 'write')).rejects.toThrow('NOT NULL')
  await client.execute(`INSERT INTO store_facts VALUES ('a', '1')`)
  await client.batch([db.bind(required, { key: 'a' })], 'write')
})
