import { or, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { p } from '../driver/binding.ts'

/** Whether `search` is part of one of these columns. The case of A to Z is ignored; the empty text matches all. */
export function matchesSearchText(...columns: SQLiteColumn[]): SQL {
  const contains = (column: SQLiteColumn) => sql`instr(lower(${column}), lower(${p('search')})) > 0`
  return or(sql`${p('search')} = ''`, ...columns.map(contains))!
}
