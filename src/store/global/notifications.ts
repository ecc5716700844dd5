/** What people are to be notified of, over all accounts: the cross-account queries of the worker, and the push key. */
import type { SealedToken } from '../../lib/key-ring.ts'
import {
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  excludedToken,
  insertedToken,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../sql.ts'
import type { Notice } from '../account/notifications.ts'

export interface DueNotice extends Notice {
  accountId: string
  userId: string
  dueAt: number
}

/** Most notifications that are due for one person at a time: a slow push service does not keep others waiting. */
const maxDueOfUser = 2

interface PushKey extends SealedToken {
  id: string
  publicKey: string
  createdAt: number
}

const key = query<PushKey>(`SELECT id, public_key, ${sealedColumns}, created_at FROM push_keys WHERE id = :id`)
const addKey = statement(`
  INSERT INTO push_keys (id, public_key, ${sealedColumns}, created_at) VALUES (:id, :publicKey, ${insertedToken}, :at)
  ON CONFLICT (id) DO UPDATE SET public_key = excluded.public_key, ${excludedToken}, created_at = excluded.created_at
  WHERE push_keys.token_key_id = :lostKeyId`)

// The unread deliveries that came after what was noted for a browser, once their messages have a place.
const unnoted = (subscription: string) => `
  seats AS seat
  CROSS JOIN agent_numbers AS number ON number.account_id = seat.account_id AND number.agent_id = seat.agent_id
  CROSS JOIN deliveries AS d ON d.inbox = number.n AND d.state = 'unread' AND d.seq > ${subscription}.seq
  CROSS JOIN messages AS m ON m.account_id = d.sender_account_id AND m.id = d.message_id
  CROSS JOIN thread_messages AS place ON place.account_id = d.account_id AND place.seq = m.seq
  WHERE seat.account_id = ${subscription}.account_id AND seat.user_id = ${subscription}.user_id`
/** What comes while the browser was told lately, or is to be told, is told with it or after `batchMs`. */
export const elseLater = (batchMs: string) =>
  `ON CONFLICT (account_id, subscription_id, thread_id, kind) DO UPDATE SET
    first_seq = iif(push_notices.due_at IS NULL, excluded.first_seq, push_notices.first_seq),
    last_seq = excluded.last_seq,
    due_at = coalesce(push_notices.due_at, max(excluded.due_at, push_notices.pushed_at + ${batchMs})),
    tries = iif(push_notices.due_at IS NULL, 0, push_notices.tries)`
const hasUnnoted = crossAccountQuery(
  'messages that browsers are not to be told of yet',
  `SELECT 1 FROM push_subscriptions AS sub WHERE EXISTS (SELECT 1 FROM ${unnoted('sub')}) LIMIT 1`,
)
const note = crossAccountStatement(
  'what browsers are to be told of',
  `
  INSERT INTO push_notices (account_id, subscription_id, thread_id, kind, first_seq, last_seq, due_at)
  SELECT * FROM (
    SELECT sub.account_id, sub.id, place.thread_id, 'message', min(d.seq), max(d.seq), min(d.created_at) + :quietMs
    FROM push_subscriptions AS sub CROSS JOIN ${unnoted('sub')} AND m.channel_id IS NULL
    GROUP BY sub.account_id, sub.id, place.thread_id)
  WHERE true
  ${elseLater(':batchMs')}`,
)
const newest = `(SELECT max(d.seq) FROM ${unnoted('push_subscriptions')})`
const advance = crossAccountStatement(
  'what browsers are to be told of',
  `UPDATE push_subscriptions SET seq = ${newest} WHERE ${newest} IS NOT NULL`,
)
const due = crossAccountQuery<DueNotice>(
  'notifications that are due',
  `
  SELECT account_id, subscription_id, thread_id, kind, user_id, due_at FROM (
    SELECT notice.account_id, notice.subscription_id, notice.thread_id, notice.kind, notice.due_at, sub.user_id,
      row_number() OVER (PARTITION BY sub.user_id ORDER BY notice.due_at) AS turn
    FROM push_notices AS notice CROSS JOIN push_subscriptions AS sub
      ON sub.account_id = notice.account_id AND sub.id = notice.subscription_id
    WHERE notice.due_at <= :at)
  WHERE turn <= ${maxDueOfUser} ORDER BY due_at LIMIT :limit`,
)
const renew = crossAccountStatement(
  'subscriptions of a browser',
  `UPDATE push_subscriptions SET session_id = :session WHERE endpoint = :endpoint AND user_id = :user RETURNING 1`,
)
const removeOthers = crossAccountStatement(
  'subscriptions of a browser',
  `DELETE FROM push_subscriptions WHERE endpoint = :endpoint AND user_id <> :user`,
)

const digestsDue = crossAccountQuery<{ accountId: string; userId: string; nextAt: number }>(
  'mail digests that are due',
  `SELECT account_id, user_id, next_at FROM mail_digests WHERE next_at <= :at ORDER BY next_at LIMIT :limit`,
)
const endDigest = crossAccountStatement(
  'mail digest by its token',
  `DELETE FROM mail_digests WHERE token = :token RETURNING 1`,
)

export const notifications = (db: Db) => ({
  /** The key pair for push services; undefined before it is first needed. */
  pushKey: (id: string) => db.one(key, { id }),
  /** Does nothing if there is one, unless that is sealed with the key `lostKeyId` of the key ring. */
  addPushKey: (id: string, publicKey: string, sealed: SealedToken, lostKeyId: string | null, at: number): Statement =>
    db.bind(addKey, { id, publicKey, ...sealed, lostKeyId, at }),

  /** Whether messages have come that are not noted for the browsers of their recipient. */
  hasUnnoted: async () => (await db.one(hasUnnoted)) !== undefined,
  /**
   * Note the messages that have come for each browser of their recipient, to tell it after `quietMs`, and at most once
   * in `batchMs` of the same thread. Posts in channels are passed over: `news.ts` has those. The statements are one unit; whoever commits it,
   * and however often, each message is noted once.
   */
  note: (quietMs: number, batchMs: number): Statement[] => [
    { ...db.bind(note, { quietMs, batchMs }), rows: 100 },
    { ...db.bind(advance), rows: 100 },
  ],
  due: (at: number, limit: number): Promise<DueNotice[]> => db.all(due, { at, limit }),

  /** The browser is signed in with another session now. Returns a row for each account that it is subscribed in. */
  renew: (endpoint: string, user: string, session: string): Statement => db.bind(renew, { endpoint, user, session }),
  removeOthers: (endpoint: string, user: string): Statement => db.bind(removeOthers, { endpoint, user }),

  digestsDue: (at: number, limit: number) => db.all(digestsDue, { at, limit }),
  /** End the emails with this token. No row if there are none. */
  endDigest: (token: string): Statement => db.bind(endDigest, { token }),
})

const untold = crossAccountQuery<{ accountId: string }>(
  'accounts with pauses that the owners were not told of',
  `
  SELECT DISTINCT account_id FROM conversation_turns
  WHERE paused_at IS NOT NULL AND told_at IS NULL LIMIT :limit`,
)

export const turns = (db: Db) => ({
  /** The accounts whose owners were not told of a pause. */
  withUntold: async (limit: number) => (await db.all(untold, { limit })).map(({ accountId }) => accountId),
})
