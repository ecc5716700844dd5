/**
 * Deletes an account and later removes its rows, because its owner deleted it or nobody claimed it in time. See
 * docs/operating/accounts.md, "Deleting an account".
 */
import type { Row } from '@libsql/client'
import { drainedTables, primaryKeys } from '../../../db/derived-tables.ts'
import {
  type AccountDb,
  crossAccountStatement,
  precondition,
  type Query,
  query,
  type Statement,
  statement,
} from '../sql.ts'
import { deleteAgents } from './agent-rows.ts'

// The statements that empty an account's tables. Its messages are removed earlier, by the statements of retention.
// `db/account-tables.ts` says what happens to each table.
const drains = drainedTables.map((table): Query<Row> => {
  const key = primaryKeys[table] ?? 'rowid'
  // The rows are found by their threads, because no key begins with the account.
  const more = table === 'thread_messages'
    ? ' AND thread_id IN (SELECT threads.id FROM threads WHERE threads.account_id = :account)'
    : ''
  return statement(`
    DELETE FROM ${table} WHERE ${table}.account_id = :account
      AND (${key}) IN (SELECT ${key} FROM ${table} WHERE ${table}.account_id = :account${more} LIMIT :limit)
    RETURNING 1`)
})

const requireUnclaimed = precondition(`EXISTS (
  SELECT 1 FROM accounts
  WHERE accounts.id = :account AND accounts.state = 'provisional' AND accounts.created_at <= :until
    AND NOT EXISTS (SELECT 1 FROM trials WHERE trials.account_id = :account AND trials.expires_at > :at))`)
const requireDeleted = precondition(`EXISTS (
  SELECT 1 FROM accounts WHERE accounts.id = :account AND accounts.deleted_at <= :until AND accounts.state <> 'removing')`)
const requireKept = precondition(`EXISTS (
  SELECT 1 FROM accounts
  WHERE accounts.id = :account AND accounts.deleted_at IS NULL AND accounts.state NOT IN ('removing', 'removed'))`)

const requireRestorable = precondition(`EXISTS (
  SELECT 1 FROM accounts WHERE accounts.id = :account AND accounts.deleted_at > :after AND accounts.state <> 'removing')`)

// Deletes the agents, so that they cannot be reached and their aliases stay reserved for the account.
const hide = deleteAgents(':account').concat(
  statement(`UPDATE accounts SET deleted_at = :at WHERE id = :account AND deleted_at IS NULL`),
)
const showAgents = statement(`
  UPDATE agents SET deleted_at = NULL
  WHERE account_id = :account AND deleted_at = (SELECT accounts.deleted_at FROM accounts WHERE accounts.id = :account)`)
const show = statement(`UPDATE accounts SET deleted_at = NULL WHERE id = :account`)
const begin = statement(`UPDATE accounts SET state = 'removing', join_email = NULL WHERE id = :account`)
// An agent that takes a former alias must not inherit its trust.
const distrustAliases = crossAccountStatement(
  'access lists with aliases that become free',
  `
  UPDATE agent_access SET pending = 1 WHERE NOT pending AND alias IN (
    SELECT agents.alias FROM agents WHERE agents.account_id = :account AND agents.moved_to IS NULL)`,
)
// An agent's row keeps its number but loses its alias, because deleting the row would make SQLite scan all deliveries
// for references.
const end = [
  `UPDATE agents SET alias = id, description = '', remote_url = NULL, signup_id = NULL WHERE account_id = :account`,
  `DELETE FROM signups WHERE account_id = :account`,
  `UPDATE accounts SET state = 'removed', name = '', deleted_at = NULL WHERE id = :account AND state = 'removing'`,
].map(statement)

const requireImporting = precondition(`EXISTS (
  SELECT 1 FROM accounts WHERE accounts.id = :account AND accounts.state = 'importing')`)
const forgetImport = statement(`DELETE FROM store_facts WHERE key = 'import:' || :account`)
const importing = query<{ one: number }>(`SELECT 1 AS one FROM accounts WHERE id = :account AND state = 'importing'`)

const deletion = query<{ deletedAt: number | null }>(`SELECT deleted_at FROM accounts WHERE id = :account`)

const hidden = (account: AccountDb, at: number) => hide.map((statement) => account.bind(statement, { at }))

export const removal = {
  reads: (account: AccountDb) => ({
    /** When the account was deleted, in milliseconds since the epoch; undefined if it was not. */
    deletedAt: async () => (await account.one(deletion))?.deletedAt ?? undefined,
    isImporting: async () => await account.one(importing) !== undefined,
  }),
  changes: (account: AccountDb) => ({
    /** Fails the unit if the account is deleted when it runs. */
    requireKept: (): Statement => account.bind(requireKept, {}),
    /** Marks the account as deleted at `at`. Until it is removed, `restore` restores all of it. */
    delete: (at: number): Statement[] => [
      account.bind(requireKept, {}),
      ...hidden(account, at),
    ],
    /** Fails the unit unless the account was deleted after `after`. */
    restore: (after: number): Statement[] => [
      account.bind(requireRestorable, { after }),
      account.bind(showAgents, {}),
      account.bind(show, {}),
    ],
    /** Starts removing an account that was deleted by `until`. From then on it cannot be restored. */
    begin: (until: number): Statement[] => [account.bind(requireDeleted, { until }), account.bind(begin, {})],
    /**
     * Starts removing an account that was opened by `until`. Fails the unit if it was claimed, or if one of its trials
     * has not ended at `at`.
     */
    beginUnclaimed: (until: number, at: number): Statement[] => [
      account.bind(requireUnclaimed, { until, at }),
      ...hidden(account, at),
      account.bind(begin, {}),
    ],
    /** Starts removing an account whose import never finished. */
    beginImporting: (at: number): Statement[] => [
      account.bind(requireImporting, {}),
      account.bind(forgetImport, {}),
      ...hidden(account, at),
      account.bind(begin, {}),
    ],
    /** One statement per table, which removes up to `limit` rows and returns a row for each. */
    drains: (limit: number): Statement[] =>
      drains.map((statement) => ({ ...account.bind(statement, { limit }), rows: limit })),
    /** Releases the aliases, which become pending on access lists. Only ids of the account and its agents remain. */
    end: (): Statement[] => [distrustAliases, ...end].map((statement) => account.bind(statement, {})),
  }),
}
