/** What people are to be notified of, over all accounts: the cross-account queries of the worker, and the push key. */
import { agentOf } from '../account/inbox-message.ts'
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
import { mayDecide } from '../account/deciders.ts'
import type { Notice } from '../account/notifications.ts'
import { inBatch } from './conversations.ts'
import { isAtPosition } from './pulse.ts'

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

/** What comes while the browser was told lately, or is to be told, is told with it or after `batchMs`. */
export const elseLater = (batchMs: string) =>
  `ON CONFLICT (account_id, subscription_id, thread_id, kind) DO UPDATE SET
    first_seq = iif(push_notices.due_at IS NULL, excluded.first_seq, push_notices.first_seq),
    last_seq = excluded.last_seq,
    due_at = coalesce(push_notices.due_at, max(excluded.due_at, push_notices.pushed_at + ${batchMs})),
    tries = iif(push_notices.due_at IS NULL, 0, push_notices.tries)`
// With this condition SQLite looks into an index.
const existBrowsers = `EXISTS (SELECT 1 FROM push_subscriptions WHERE push_subscriptions.account_id > '')`
// Posts in channels are left out: `news.ts` has those.
const noteMessages = crossAccountStatement(
  'notices for browsers',
  `
  INSERT INTO push_notices (account_id, subscription_id, thread_id, kind, first_seq, last_seq, due_at)
  SELECT * FROM (
    SELECT sub.account_id, sub.id, place.thread_id, 'message', min(d.seq), max(d.seq), min(d.created_at) + :quietMs
    FROM messages AS m
    CROSS JOIN deliveries AS d ON d.seq = m.seq
    CROSS JOIN person_aliases AS personAlias ON personAlias.account_id = d.account_id AND personAlias.agent_id = ${
    agentOf('d')
  }
    CROSS JOIN push_subscriptions AS sub ON sub.account_id = personAlias.account_id AND sub.user_id = personAlias.user_id
    CROSS JOIN thread_messages AS place ON place.account_id = d.account_id AND place.seq = m.seq
    WHERE ${inBatch} AND ${existBrowsers} AND m.channel_id IS NULL AND d.state = 'unread'
      AND d.created_at >= sub.created_at
    GROUP BY sub.account_id, sub.id, place.thread_id)
  WHERE true
  ${elseLater(':batchMs')}`,
)
const isNew = `log.seq > :after AND log.seq <= :upTo AND ${isAtPosition}`
const noteHeld = crossAccountStatement(
  'notices for browsers',
  `
  INSERT INTO push_notices (account_id, subscription_id, thread_id, kind, first_seq, last_seq, due_at)
  SELECT held.account_id, sub.id, 0, 'held', min(held.held_at), max(held.held_at), min(held.held_at) + :quietMs
  FROM log
  CROSS JOIN held_messages AS held ON held.account_id = log.home AND held.id = log.subject AND held.state = 'held'
  CROSS JOIN push_subscriptions AS sub ON sub.account_id = held.account_id
  CROSS JOIN memberships AS member ON member.account_id = held.account_id AND member.user_id = sub.user_id
  WHERE ${isNew} AND log.kind = 'held' AND ${mayDecide}
  GROUP BY held.account_id, sub.id
  ${elseLater(':batchMs')}`,
)
const endOfSessions = crossAccountStatement(
  'subscriptions of ended sessions',
  `
  DELETE FROM push_subscriptions WHERE user_id IN (SELECT log.subject FROM log WHERE ${isNew} AND log.kind = 'person')
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = push_subscriptions.session_id AND sessions.ended_at IS NULL)`,
)
const due = crossAccountQuery<DueNotice>(
  'notifications that are due',
  `
  SELECT account_id, subscription_id, thread_id, kind, user_id, due_at FROM (
    SELECT notice.account_id, notice.subscription_id, notice.thread_id, notice.kind, notice.due_at, sub.user_id,
      row_number() OVER (PARTITION BY sub.user_id ORDER BY notice.due_at) AS turn
    FROM push_notices AS notice
    CROSS JOIN push_subscriptions AS sub ON sub.account_id = notice.account_id AND sub.id = notice.subscription_id
    LEFT JOIN sessions ON sessions.id = sub.session_id
    WHERE notice.due_at <= :at AND sessions.ended_at IS NULL)
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

  /**
   * Note the messages of a batch for the browsers of their recipients, unless a process has done it. A browser is notified
   * after `quietMs`, and of one thread at most once in `batchMs`.
   */
  noteMessages: (batch: { after: number; upTo: number }, delays: { quietMs: number; batchMs: number }): Statement => ({
    ...db.bind(noteMessages, { ...batch, ...delays, follower: 'browser messages' }),
    rows: 100,
    isTraffic: true,
  }),
  /** The same of messages that are held. Also removes the subscriptions of ended sessions. */
  noteEvents: (batch: { after: number; upTo: number }, delays: { quietMs: number; batchMs: number }): Statement[] => [
    { ...db.bind(noteHeld, { ...batch, ...delays, follower: 'browser events' }), rows: 100, isTraffic: true },
    { ...db.bind(endOfSessions, { ...batch, follower: 'browser events' }), rows: 10, isTraffic: true },
  ],
  due: (at: number, limit: number): Promise<DueNotice[]> => db.all(due, { at, limit }),

  /** The browser is signed in with another session now. Returns a row for each account that it is subscribed in. */
  renew: (endpoint: string, user: string, session: string): Statement => db.bind(renew, { endpoint, user, session }),
  removeOthers: (endpoint: string, user: string): Statement => db.bind(removeOthers, { endpoint, user }),

  digestsDue: (at: number, limit: number) => db.all(digestsDue, { at, limit }),
  /** End the emails with this token. No row if there are none. */
  endDigest: (token: string): Statement => db.bind(endDigest, { token }),
})

const unnotified = crossAccountQuery<{ accountId: string }>(
  'accounts with pauses that the owners were not told of',
  `
  SELECT DISTINCT account_id FROM conversation_turns
  WHERE paused_at IS NOT NULL AND notified_at IS NULL LIMIT :limit`,
)

export const turns = (db: Db) => ({
  /** The accounts whose owners were not told of a pause. */
  withUnnotified: async (limit: number) => (await db.all(unnotified, { limit })).map(({ accountId }) => accountId),
})
