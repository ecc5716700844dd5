/** Statements that store an archive's rows. See docs/protocol/archive.md. */
import type { InValue } from '@libsql/client'
import type { Statement } from '../../../store/sql.ts'
import { accountColumnsOf, accountValue, archivedByRecord, type ImportContext } from './tables.ts'
import { type ArchivedRow, checkArchived } from './validators.ts'

/**
 * Returns the statements for one row. An existing row is left unchanged, so an interrupted import can be repeated.
 * Fails like `checkArchived`.
 */
export function insertArchived(record: string, row: ArchivedRow, context: ImportContext): Statement[] {
  checkArchived(record, row, context.at)
  const archived = archivedByRecord.get(record)!
  const { table, fields, convert = {}, store = {}, isAppendOnly, then } = archived
  const values = new Map<string, [sql: string, ...args: InValue[]]>()
  for (const column of accountColumnsOf(archived)) values.set(column, [accountValue('?'), context.account])
  for (const [field, column] of Object.entries(fields)) {
    const value = row[field]
    // Fields that an older format lacks get their default values.
    if (value === undefined) continue
    values.set(column, ['?', typeof value === 'string' ? convert[field]?.fromArchive(value) ?? value : value])
  }
  for (const [column, stored] of Object.entries(store)) values.set(column, stored(row, context))

  const list = [...values.values()].map(([sql]) => sql).join(', ')
  const args = [...values.values()].flatMap(([, ...args]) => args)
  const into = `INSERT INTO ${table} (${[...values.keys()].join(', ')})`
  const insert = isAppendOnly
    ? {
      sql: `${into} SELECT ${list} WHERE NOT EXISTS (
        SELECT 1 FROM ${table} WHERE account_id = ${accountValue('?')} AND ${fields.id} = ?)`,
      args: [...args, context.account, row.id],
    }
    : { sql: `${into} VALUES (${list}) ON CONFLICT DO NOTHING`, args }
  return [insert, ...then?.(row, context) ?? []]
}
