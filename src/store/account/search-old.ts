/** How lists are searched: by a part of a text, without regard to the case of A to Z. The text is bound as `search`. */
import { or, type SQL, sql } from 'drizzle-orm'
import { p } from '../driver/binding.ts'

/** Whether the column contains the search text. */
export function contains(column: unknown): SQL {
  return sql`instr(lower(${column}), lower(${p('search')})) > 0`
}

/** Whether one of these columns or conditions matches the search text; an empty search text matches all. */
export function matchesSearchText(columns: unknown[], ...conditions: SQL[]): SQL {
  return or(sql`${p('search')} = ''`, ...columns.map(contains), ...conditions)!
}
