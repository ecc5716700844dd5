import { createClient } from '@libsql/client'
import { afterAll, expect, test } from 'vitest'
import { allQueries, Db, precondition, statement } from '../../src/store/sql.ts'

const client = createClient({ url: 'file::memory:', concurrency: 1 })
const registered = allQueries.length
afterAll(() => {
  client.close()
  // Unregisters this file's statements, because other tests examine every statement of the store.
  allQueries.length = registered
})
const db = new Db(client)

test("a statement's account takes precedence over a value named account", () => {
  const bound = db.forAccount('acme').bind(statement('DELETE FROM t WHERE account_id = :account AND id = :id'), {
    account: 'evil',
    id: 'x',
  })

  expect(bound.args).toEqual(['acme', 'x'])
})

test.each([['undefined', undefined], ['an object', {}], ['a list', [1]], ['a date', new Date(0)]])(
  '%s is refused as a value, because the native driver would terminate the process',
  (_, value) => {
    expect(() => db.bind(statement('SELECT :x'), { x: value as never })).toThrow(TypeError)
  },
)

test('a unit fails unless its precondition holds', async () => {
  await client.execute('CREATE TABLE store_facts (key TEXT NOT NULL, value TEXT NOT NULL)')
  const required = precondition('EXISTS (SELECT 1 FROM store_facts WHERE key = :key)')

  await expect(client.batch([db.bind(required, { key: 'a' })], 'write')).rejects.toThrow('NOT NULL')
  await client.execute(`INSERT INTO store_facts VALUES ('a', '1')`)
  await client.batch([db.bind(required, { key: 'a' })], 'write')
})
