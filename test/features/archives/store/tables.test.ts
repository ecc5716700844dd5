/** Every table and column is either archived or explicitly omitted, and no secret is archived. */
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { expect, test } from 'vitest'
import { accountTables as declared } from '../../../../db/account-tables.ts'
import * as schema from '../../../../db/schema.ts'
import {
  accountColumnsOf,
  archivedAccount,
  archivedByRecord,
  notArchived,
} from '../../../../src/features/archives/store/tables.ts'
import { archiveOf } from '../../../support/archives.ts'
import { rows } from '../../../support/database.ts'
import { testGrid } from '../../../support/grid.ts'
import { accountTables } from '../../../support/tripwire.ts'

const isOfAccount = (name: string) => (accountTables as string[]).includes(name)
const leftTables = Object.entries(declared).filter(([, { archive }]) => archive !== true)
  .map(([name]) => getTableName(schema[name as keyof typeof declared]))
const left = new Set([...leftTables, ...Object.values(notArchived).flat()])

/** All tables of the schema with their column names. */
const tables: [name: string, columns: string[]][] = Object.values(schema).filter((one) => is(one, SQLiteTable))
  .map((table) => [String(getTableName(table)), Object.values(getTableColumns(table)).map(({ name }) => name)])

/** The archived columns of each table. */
const archived = new Map([
  [archivedAccount.table, Object.values(archivedAccount.fields)],
  ...[...archivedByRecord.values()].map((one): [string, string[]] => [
    one.table,
    [...Object.values(one.fields), ...accountColumnsOf(one), ...Object.keys(one.store ?? {})],
  ]),
])

test('every table and column of an account is either archived or in the list of omitted ones', () => {
  const undecided = tables.filter(([name]) => (name === 'accounts' || isOfAccount(name)) && !left.has(name))
    .flatMap(([name, columns]) =>
      columns.filter((column) => !archived.get(name)?.includes(column)).map((column) => `${name}.${column}`)
    )

  expect(undecided.filter((path) => !left.has(path))).toEqual([])
})

test('every column in the list of omitted ones exists, and is not archived', () => {
  const exists = new Map(tables)
  const fields = new Map([archivedAccount, ...archivedByRecord.values()].map((one) => [one.table, one.fields]))
  const wrong = [...left].filter((path) => {
    const [table, column] = path.split('.')
    if (column === undefined) return !exists.has(table) || archived.has(table)
    return !exists.get(table)?.includes(column) || Object.values(fields.get(table) ?? {}).includes(column)
  })

  expect(wrong).toEqual([])
})

test('no hash, sealed token or secret of any table is archived', async () => {
  const grid = await testGrid()
  const canary = 'CANARY'
  const isSecret = /hash$|^encrypted_token$|^token|secret|p256dh|^auth$|^endpoint$|password/
  const allowed = ['verdicts.text_hash', 'verdicts.conversation_hash', 'guardrail_exceptions.text_hash']
  const secrets = tables.flatMap(([table, columns]) =>
    columns.filter((column) => isSecret.test(column) && !allowed.includes(`${table}.${column}`)).map((column) =>
      [table, column] as const
    )
  )
  expect(secrets).toEqual(expect.arrayContaining([['agents', 'encrypted_token'], ['users', 'password_hash']]))
  for (const [n, [table, column]] of secrets.entries()) {
    const [where, args] = isOfAccount(table) ? [' WHERE account_id = ?', [grid.acme.id]] : ['', []]
    await rows(grid, `UPDATE OR IGNORE ${table} SET ${column} = '${canary}' || ${n} || rowid${where}`, args)
  }

  const { text } = await archiveOf(grid.store, grid.acme.id)

  expect(text).toContain('"alice"')
  expect(text).not.toContain(canary)
  expect(text).not.toMatch(/grid_(agt|adm|oat|ort|cs)_/)
})
