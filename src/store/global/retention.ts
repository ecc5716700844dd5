import { primaryKeys } from '../../../db/derived-tables.ts'
import { day, hour } from '../../lib/time.ts'
import { type ExpiringDelivery, isSending } from '../account/endings.ts'
import { isQuiet } from '../account/task-changes.ts'
import { crossAccountQuery, crossAccountStatement, type Db, type Statement, statement } from '../sql.ts'

// These queries return only ids, because each account's rows are removed separately, except rows without dependents.
const keys = crossAccountQuery<{ accountId: string; messageId: string }>(
  'old idempotency keys',
  `
  SELECT sender_account_id AS account_id, message_id FROM idempotency_keys WHERE created_at <= :until
  ORDER BY created_at LIMIT :limit`,
)
// Message ids sort by time, so an account's first message is its oldest.
const withMessages = crossAccountQuery<{ id: string; until: number }>(
  'accounts with old messages',
  `
  SELECT id, :now - coalesce(retention_days * ${day}, :kept) AS until FROM accounts
  WHERE (SELECT messages.created_at FROM messages WHERE messages.account_id = accounts.id
    ORDER BY messages.id LIMIT 1) <= :now - coalesce(retention_days * ${day}, :kept)
    AND NOT EXISTS (SELECT 1 FROM store_facts WHERE store_facts.key = 'import:' || accounts.id)
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

const deletedAccounts = crossAccountQuery<{ id: string }>(
  'deleted accounts',
  `
  SELECT id FROM accounts WHERE deleted_at IS NOT NULL AND deleted_at <= :until AND state <> 'removing' LIMIT :limit`,
)
const removing = crossAccountQuery<{ id: string }>(
  'deleted accounts',
  `SELECT id FROM accounts WHERE deleted_at IS NOT NULL AND deleted_at >= 0 AND state = 'removing' LIMIT :limit`,
)

/** Removes rows by age alone. `name` is the name of a cross-account statement. */
const removal = (table: string, isOld: string, name?: string) => {
  const key = primaryKeys[table] ?? 'rowid'
  const text =
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${isOld} LIMIT :limit) RETURNING 1`
  return name === undefined ? statement(text) : crossAccountStatement(name, text)
}
const removals = {
  tasks: removal('tasks', 'expires_at IS NULL AND status_at <= :until', 'old tasks'),
  contexts: removal('contexts', 'used_at <= :until', 'old contexts'),
  'remote tasks': removal('remote_tasks', 'due_at IS NULL AND created_at <= :until', 'old remote tasks'),
  verdicts: removal('verdicts', 'created_at <= :until', 'old verdicts'),
  'texts of blocked messages': crossAccountStatement(
    'old texts of verdicts',
    `
    UPDATE verdicts SET content = NULL
    WHERE rowid IN (SELECT rowid FROM verdicts WHERE created_at <= :until AND content IS NOT NULL LIMIT :limit)
    RETURNING 1`,
  ),
  'contents of uploads': crossAccountStatement(
    'old contents of uploads',
    `
    DELETE FROM upload_rows WHERE rowid IN (
      SELECT upload_rows.rowid FROM uploads
      JOIN upload_rows ON upload_rows.account_id = uploads.account_id AND upload_rows.upload_id = uploads.id
      WHERE uploads.message_id IS NULL AND uploads.created_at <= :until LIMIT :limit)
    RETURNING 1`,
  ),
  uploads: removal('uploads', 'message_id IS NULL AND created_at <= :until', 'old uploads'),
  'blocked sends': removal('blocked_sends', 'created_at <= :until', 'old blocked sends'),
  'counts of guardrails': removal('guardrail_counts', 'hour <= :until', 'old counts of guardrails'),
  notifications: removal('push_notices', 'due_at IS NULL AND pushed_at <= :until', 'old notifications'),
  snoozes: removal('snoozes', 'until <= :until', 'ended snoozes'),
  'counts of hours': removal('traffic', `period_ms = ${hour} AND at <= :until`, 'old counts'),
  'counts of days': removal('traffic', `period_ms = ${day} AND at <= :until`, 'old counts'),
  usage: removal('usage', 'day <= :until', 'old usage'),
  'turns of conversations': removal('conversation_turns', 'since <= :until AND paused_at IS NULL', 'old turns'),
  sessions: removal('sessions', 'expires_at <= :until OR (ended_at IS NOT NULL AND ended_at <= :until)'),
  'sign-in challenges': removal('sign_in_challenges', 'expires_at <= :until'),
  links: removal('links', 'expires_at <= :until'),
  attempts: removal('attempts', 'created_at <= :until'),
  'skipped rows': removal('skipped_rows', 'at <= :until', 'old skipped rows'),
  invitations: removal('invitations', 'expires_at <= :until', 'expired invitations'),
}
/** A row's weight in usual rows. A task has about ten dependent rows, and an upload's row is long. */
const weights: Partial<Record<keyof typeof removals, number>> = { tasks: 10, 'contents of uploads': 20 }

/** Rows that are removed by age alone. */
export type OldRows = keyof typeof removals

const tasksToFail = crossAccountQuery<{ accountId: string; id: string; expiresAt: number }>(
  'tasks without an answer',
  `
  SELECT account_id, id, expires_at FROM tasks WHERE expires_at IS NOT NULL AND expires_at <= :until
  ORDER BY expires_at LIMIT :limit`,
)

const quietTasks = crossAccountQuery<{ accountId: string; id: string; recipientAlias: string }>(
  'tasks without news',
  `
  SELECT account_id, id, recipient_alias FROM tasks
  WHERE tasks.status_at <= :quietSince AND ${isQuiet} ORDER BY tasks.status_at LIMIT :limit`,
)

const expiring = crossAccountQuery<ExpiringDelivery & { accountId: string; taskId: string | null }>(
  'messages that expire',
  `
  SELECT messages.account_id, deliveries.seq, deliveries.inbox, messages.id AS message_id, deliveries.task_id,
    messages.from_agent_id
  FROM deliveries JOIN messages ON messages.seq = deliveries.seq
  WHERE deliveries.state = 'unread' AND deliveries.expires_at IS NOT NULL AND deliveries.expires_at <= :until
    AND NOT ${isSending}
  ORDER BY deliveries.expires_at LIMIT :limit`,
)

const heldExpiring = crossAccountQuery<{ accountId: string; id: string }>(
  'held messages that expire',
  `
  SELECT account_id, id FROM held_messages WHERE state = 'held' AND expires_at <= :until
  ORDER BY expires_at LIMIT :limit`,
)

/** Finds the accounts with old rows, and removes independent old rows. */
export function retention(db: Db) {
  return {
    /** Unfinished tasks that have expired, or whose recipient was deleted, in which case `expiresAt` is 0. */
    tasksToFail: (until: number, limit: number) => db.all(tasksToFail, { until, limit }),
    /** Tasks whose recipient works without an event after `since`, and whose client has not been notified. */
    quietTasks: (since: number, limit: number) => db.all(quietTasks, { quietSince: since, limit }),
    /** Expired unread deliveries, with the accounts of their senders. */
    expiring: (until: number, limit: number) => db.all(expiring, { until, limit }),
    /** Messages that no person has decided on in time, with the accounts that hold them. */
    heldExpiring: (until: number, limit: number) => db.all(heldExpiring, { until, limit }),
    /** Removes rows older than `until`, up to the weight of about `rows` usual rows. Returns a row for each. */
    remove: (old: OldRows, until: number, rows: number): Statement => ({
      ...db.bind(removals[old], { until, limit: Math.ceil(rows / (weights[old] ?? 1)) }),
      rows,
    }),
    /** The accounts and messages of idempotency keys stored by `until`, oldest first. */
    keys: (until: number, limit: number) => db.all(keys, { until, limit }),
    /** Accounts with messages that are older at `now` than `kept` ms, or than the account's own retention. */
    accountsWithMessages: (now: number, kept: number, limit: number) => db.all(withMessages, { now, kept, limit }),
    /** Provisional accounts opened by `until` whose trials have all ended at `at`, oldest first. */
    unclaimed: (until: number, at: number, limit: number) => db.all(unclaimed, { until, at, limit }),
    /** Accounts deleted by their owners by `until`. */
    deleted: (until: number, limit: number) => db.all(deletedAccounts, { until, limit }),
    /** Accounts whose rows are being removed. */
    removing: (limit: number) => db.all(removing, { limit }),
  }
}
