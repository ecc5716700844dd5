/**
 * Account scoping. Every statement on an account table is prepared once, with the placeholder `account`. Only an
 * `AccountBinding` can run or bind it, and it fills in its own account. See docs/security.md, "Four nets".
 */
import { and, eq, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { p } from './driver/binding.ts'

/** Rows of the account that meet all conditions. Each is bracketed, so an `OR` in it cannot lead out of the account. */
export function inAccount(table: { accountId: SQLiteColumn }, ...conditions: (SQL | undefined)[]): SQL {
  return and(eq(table.accountId, p('account')), ...conditions.map((condition) => condition && sql`(${condition})`))!
}

/** The values of a new row of the account. */
export function withAccount<T extends Record<string, unknown>>(row: T): T & { accountId: Placeholder } {
  return { ...row, accountId: p('account') }
}
