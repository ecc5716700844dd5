/**
 * Account scoping. Every statement on an account table is prepared once, with the placeholder `account`. Only an
 * `AccountBinding` can run or bind it, and it fills in its own account. See docs/security.md, "Four nets".
 */
import { and, eq, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { agentNumbers, deliveries } from '../../db/schema.ts'
import { p } from './driver/binding.ts'

/** Rows of the account that meet all conditions. Each is bracketed, so an `OR` in it cannot lead out of the account. */
export function inAccount(table: { accountId: SQLiteColumn }, ...conditions: (SQL | undefined)[]): SQL {
  return and(eq(table.accountId, p('account')), ...conditions.map((condition) => condition && sql`(${condition})`))!
}

/**
 * Deliveries in the inbox of an agent of the account that meet all conditions. The number of the inbox stands for the
 * account and the agent, so that the indexes of the inbox answer by themselves: a foreign key makes it the number of
 * both.
 */
export function inInbox(agent: SQL | Placeholder, ...conditions: (SQL | undefined)[]): SQL {
  return and(
    eq(deliveries.inbox, sql`(${inboxOf(p('account'), agent)})`),
    ...conditions.map((condition) => condition && sql`(${condition})`),
  )!
}

/** Selects the number of the inbox of an agent; no row if the agent does not belong to the account. */
export function inboxOf(account: SQL | Placeholder | SQLiteColumn, agent: SQL | Placeholder | SQLiteColumn): SQL {
  return sql`SELECT ${agentNumbers.n} FROM ${agentNumbers} WHERE ${agentNumbers.accountId} = ${account} AND ${agentNumbers.agentId} = ${agent}`
}

/** The values of a new row of the account. */
export function withAccount<T extends Record<string, unknown>>(row: T): T & { accountId: Placeholder } {
  return { ...row, accountId: p('account') }
}
