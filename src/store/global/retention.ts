import type { Row } from '@libsql/client'
import { crossAccountQuery, crossAccountStatement, type Db, type Query, type Statement } from '../sql.ts'

// Only ids leave these queries; removal is per account, except of rows that nothing else depends on.
const keys = crossAccountQuery<{ accountId: string; messageId: string }>(
  'old idempotency keys',
  `
  SELECT sender_account_id AS account_id, message_id FROM idempotency_keys WHERE created_at <= :until
  ORDER BY created_at LIMIT :limit`,
)
// Ids of messages sort by time, so the first of an account is its oldest.
const withMessages = crossAccountQuery<{ id: string }>(
  'accounts with old messages',
  `
  SELECT id FROM accounts
  WHERE (SELECT messages.created_at FROM messages WHERE messages.account_id = accounts.id
    ORDER BY messages.id LIMIT 1) <= :until
  LIMIT :limit`,
)
const unclaimed = crossAccountQuery<{ id: string }>(
  'unclaimed accounts',
  `
  SELECT accounts.id FROM accounts
  WHERE accounts.state = 'provisional' AND accounts.created_at <= :until
    AND NOT EXISTS (SELECT 1 FROM trials WHERE trials.account_id = accounts.id AND trials.expires_at > :at)
  ORDER BY accounts.created_at LIMIT :limit`,
)

/** `key`: the primary key of a table without rowid. */
const removal = (name: string, table: string, isOld: string, key = 'rowid') =>
  crossAccountStatement(
    name,
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${isOld} LIMIT :limit) RETURNING 1`,
  )
const removeVerdicts = removal('old verdicts', 'verdicts', 'created_at <= :until')
const removeBlockedSends = removal('old blocked sends', 'blocked_sends', 'created_at <= :until')
const removeCounts = removal('old counts of guardrails', 'guardrail_counts', 'hour <= :until')
const removeSnoozes = removal('ended snoozes', 'snoozes', 'until <= :until')
const removeUsage = removal('old usage', 'usage', 'day <= :until', 'account_id, day, subject')
const removeTurns = removal(
  'old turns',
  'conversation_turns',
  'since <= :until AND paused_at IS NULL',
  'account_id, key',
)
const removeTasks = removal('old tasks', 'tasks', 'expires_at IS NULL AND status_at <= :until')
const removeContexts = removal('old contexts', 'contexts', 'used_at <= :until')
const removeContents = crossAccountStatement(
  'old texts of verdicts',
  `
  UPDATE verdicts SET content = NULL
  WHERE rowid IN (SELECT rowid FROM verdicts WHERE created_at <= :until AND content IS NOT NULL LIMIT :limit)
  RETURNING 1`,
)
const tasksToFail = crossAccountQuery<{ accountId: string; id: string; expiresAt: number }>(
  'tasks that nobody answered',
  `
  SELECT account_id, id, expires_at FROM tasks WHERE expires_at IS NOT NULL AND expires_at <= :until
  ORDER BY expires_at LIMIT :limit`,
)

/** Finds the accounts with something to remove, and removes what belongs to nothing else. */
export function retention(db: Db) {
  const remove = (removal: Query<Row>, rowsOfEach = 1) => (until: number, limit: number): Statement => ({
    ...db.bind(removal, { until, limit }),
    rows: limit * rowsOfEach,
  })
  return {
    /** Tasks without an end whose time is over, or whose recipient was deleted: then `expiresAt` is 0. */
    tasksToFail: (until: number, limit: number) => db.all(tasksToFail, { until, limit }),
    /** Remove at most `limit` tasks that ended by `until`, with what belongs to them; returns a row for each. */
    removeTasks: remove(removeTasks, 10),
    /** Remove what clients called conversations that they last used by `until`; returns a row for each. */
    removeContexts: remove(removeContexts),
    /** Each of these removes at most `limit` rows that were stored by `until`, and returns a row for each. */
    removeVerdicts: remove(removeVerdicts),
    removeBlockedSends: remove(removeBlockedSends),
    removeGuardrailCounts: remove(removeCounts),
    removeSnoozes: remove(removeSnoozes),
    removeUsage: remove(removeUsage),
    removeTurns: remove(removeTurns),
    removeContents: remove(removeContents),
    /** The accounts and messages of idempotency keys stored by `until`, oldest first. */
    keys: (until: number, limit: number) => db.all(keys, { until, limit }),
    accountsWithMessages: (until: number, limit: number) => db.all(withMessages, { until, limit }),
    /** Provisional accounts opened by `until` whose trials have all ended at `at`, oldest first. */
    unclaimed: (until: number, at: number, limit: number) => db.all(unclaimed, { until, at, limit }),
  }
}
