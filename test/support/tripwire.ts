/**
 * The fourth protection of account isolation: rejects statements on an account table that do not name the account. See
 * docs/security.md, "Four nets".
 */
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { sealedTables } from '../../db/derived-tables.ts'
import * as schema from '../../db/schema.ts'
import '../../src/features/archives/store/imports.ts'
import '../../src/features/incoming/store.ts'
import '../../src/features/notifications/store.ts'
import '../../src/features/single-sign-on/store.ts'
import '../../src/features/telemetry/store.ts'
import '../../src/features/slack/store.ts'
import '../../src/features/webhooks/store.ts'
import '../../src/store/account-tables.ts'
import '../../src/store/global.ts'
import { allQueries } from '../../src/store/sql.ts'
import { untiedTables } from './sql-branches.ts'

const tables = Object.values(schema).filter((table) => is(table, SQLiteTable))
const hasAccount = (table: SQLiteTable) => 'accountId' in getTableColumns(table)

/** The names of all tables with an `account_id`. */
export const accountTables = tables.filter(hasAccount).map((table) => getTableName(table))

/** The names of all other tables. */
export const globalTables = tables.filter((table) => !hasAccount(table)).map((table) => getTableName(table))

/** Permitted cross-account queries. Each addition must be a deliberate decision. */
export const allowedCrossAccountQueries = [
  ...[...sealedTables, 'push_keys', 'signing_keys', 'totps'].flatMap((table) => [
    `tokens of ${table} by key`,
    `tokens of ${table} under other keys`,
  ]),
  'whether a sender or recipient is automated',
  'account of a Slack channel',
  'incoming hook by token',
  'texts that guardrails of others blocked',
  'results of an agent in tasks of others',
  'provider of single sign-on',
  'domains to be checked',
  'how much waits',
  'OAuth token by hash',
  'access token by hash',
  'accounts administered by a user',
  'accounts of a user are owned by another user',
  'accounts of a user that another user does not own',
  'accounts owned by a user',
  'accounts with old messages',
  'accounts with pauses without a notification',
  'accounts with trials to end',
  'agents a user may act as',
  'agents that signed up for an address',
  'names of an archive that are taken',
  'access lists with aliases that become free',
  'callback of a remote agent',
  'clients of a user',
  'confirmation of an alias',
  'credential by hash',
  'revocation of the grants of a user',
  'ended grants',
  'expired OAuth tokens',
  'expired invitations',
  'grant by code',
  'grant of a user by id',
  'grant of a user to a client',
  'grants of a user',
  'held messages that expire',
  'invitation by token',
  'live alias',
  'memberships of a session',
  'memberships of a user',
  'new places of watched accounts',
  'new aliases of an access list',
  'notifications that are due',
  'number of messages',
  'pending aliases that were taken',
  'old blocked sends',
  'old counts',
  'old counts of guardrails',
  'ended snoozes',
  'old idempotency keys',
  'old notifications',
  'old turns',
  'old skipped rows',
  'old usage',
  'old texts of verdicts',
  'old verdicts',
  'old tasks',
  'old contexts',
  'old contents of uploads',
  'old uploads',
  'old remote tasks',
  'tasks without an answer',
  'tasks without news',
  'leases in flight',
  'look that a callback asks for',
  'mail digest by its token',
  'mail digests that are due',
  'messages that expire',
  'owner of an alias',
  'places of messages that move',
  'places of messages to remove',
  'places of new messages',
  'pulse',
  'newest message of a batch',
  'recipients of new messages',
  'row that a follower leaves out',
  'rows that followers left out',
  'counts of new messages',
  'counts to make again',
  'counts of messages that move',
  'new events of webhooks',
  'notices for browsers',
  'subscriptions of ended sessions',
  'push notifications of tasks',
  'position of a reader in the log',
  'position of a time in the log',
  'texts of new messages',
  'words of new messages',
  'news of new messages',
  'words to store again',
  'places to make again',
  'public agent by alias',
  'public agents',
  'recipient in another account',
  'requests to remote agents that are due',
  'accounts whose webhooks get what needs a person',
  'signup by claim link',
  'tokens of ended grants',
  'subscriptions of a browser',
  'unclaimed accounts',
  'deleted accounts',
  'unread messages of a recipient',
  'revocable access of a user',
  'revocable access of a user, unchanged',
  'messages to be sent now',
  'reservations of agents that called tools',
  'reservations that go on',
  'reservations that have ended',
]

/**
 * Permitted subqueries that read all accounts inside statements of one account. They return only whether rows exist, or
 * a count.
 */
const allowedCrossAccountBranches = [
  // Aliases are unique across the grid.
  'SELECT 1 FROM agents AS taken WHERE taken.alias = ? AND taken.account_id <> ? AND taken.moved_to IS NULL',
]

const accounts = { tables: accountTables, columns: ['account_id', 'sender_account_id', 'recipient_account_id'] }
const names = new Map(allQueries.map(({ sql, crossAccount }) => [sql, crossAccount]))
const checked = new Set<string>()

/**
 * Throws if a branch of the statement uses an account table without naming an account. Call it before running the
 * statement.
 */
export function tripwire(sql: string, crossAccount = names.get(sql)): void {
  if (checked.has(sql) || (crossAccount && allowedCrossAccountQueries.includes(crossAccount))) return
  const inspected = allowedCrossAccountBranches.reduce(
    (text, branch) => text.replaceAll(branch, 'select 1'),
    sql.replaceAll(/\?\d+/g, '?'),
  )
  const [table] = untiedTables(inspected, accounts)
  if (table) throw new Error(`Tripwire: "${table}" without an account in a branch of this statement: ${sql}`)
  checked.add(sql)
}
