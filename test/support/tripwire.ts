/** The fourth net of account scoping: no statement on an account table without its account. */
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as schema from '../../db/schema.ts'

const tables = Object.values(schema).filter((table) => is(table, SQLiteTable))
const hasAccount = (table: SQLiteTable) => 'accountId' in getTableColumns(table)

/** Every table with an `account_id`, read from the schema. */
export const accountTables = tables.filter(hasAccount).map((table) => getTableName(table))

/** And every other. */
export const globalTables = tables.filter((table) => !hasAccount(table)).map((table) => getTableName(table))

/** The look-ups that must cross accounts. A new one is a decision, made here. */
export const allowedCrossings = [
  'OAuth token by hash',
  'access token by hash',
  'accounts a person administers',
  'accounts a person owns',
  'accounts with old messages',
  'agents a person may act as',
  'credential by hash',
  'end of the fetched keys of a person',
  'end of the grants of a person',
  'ended grants',
  'expired OAuth tokens',
  'expired invitations',
  'grant by code',
  'grant of a person by id',
  'grants of a person',
  'heads of activity logs',
  'invitation by token',
  'live alias',
  'memberships of a user',
  'new deliveries',
  'newest delivery',
  'old idempotency keys',
  'open reads',
  'owner of an alias',
  'public agent by alias',
  'public agents',
  'signup by claim link',
  'signups from an address',
  'tokens of ended grants',
  'unclaimed accounts',
  'what a person let programs do',
  'what a person still lets programs do',
]

const scoped = /"?(sender_)?account_id"? = \?/
const stamped = /^insert into "?\w+"? \([^)]*"?account_id"?/i
const unqualified = /(?<!\.)"(sender_)?account_id" = "(sender_)?account_id"(?!\.)/
// Also as people write it by hand, without quotes.
const named = new RegExp(
  `"(${accountTables.join('|')})"|\\b(?:from|join|into|update)\\s+[\`[]?(${accountTables.join('|')})\\b`,
  'i',
)

/** Throws before a statement runs that names an account table but no account. */
export function tripwire(sql: string, crossing: string | undefined): void {
  // What drizzle makes of a correlated field in a select without joins: always true.
  if (unqualified.test(sql)) throw new Error(`Tripwire: an unqualified comparison of accounts: ${sql}`)
  const table = sql.match(named)
  if (!table || scoped.test(sql) || stamped.test(sql)) return
  if (crossing && allowedCrossings.includes(crossing)) return
  throw new Error(`Tripwire: a statement on "${table[1] ?? table[2]}" without an account: ${sql}`)
}
