/** What people are to be notified of, over all accounts: the cross-account queries of the worker, and the push key. */
import { and, asc, eq, isNull, lte, ne, type SQL, sql } from 'drizzle-orm'
import {
  agentNumbers,
  deliveries,
  mailDigests,
  messages,
  pushKeys,
  pushNotices,
  pushSubscriptions,
  seats,
  threadMessages,
} from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { excludedToken, insertedToken } from '../driver/sealed-columns-old.ts'

/** A notification that is due. */
export interface DueNotice {
  accountId: string
  subscriptionId: string
  threadId: number
  userId: string
  /** When it became due, in milliseconds since the epoch. */
  dueAt: number
}

/** Most notifications that are due for one person at a time: one whose push service is slow keeps nobody waiting. */
const maxDueOfUser = 2

export function prepareNotifications(db: Db, crossAccountQueries: CrossAccountQueries) {
  const one = { one: sql`1` }
  const key = db.select().from(pushKeys).where(eq(pushKeys.id, p('id'))).prepare()
  const addKey = db.insert(pushKeys).values({
    id: p('id'),
    publicKey: p('publicKey'),
    ...insertedToken,
    createdAt: p('at'),
  }).onConflictDoUpdate({
    target: pushKeys.id,
    set: {
      publicKey: sql`excluded.public_key`,
      ...excludedToken,
      createdAt: sql`excluded.created_at`,
    },
    setWhere: eq(pushKeys.tokenKeyId, p('lostKeyId')),
  }).toSQL()

  // The unread deliveries that came after what was noted for a browser, once their messages have a place.
  const unnoted = (subscription: SQL) =>
    sql`${seats} AS seat
      CROSS JOIN ${agentNumbers} AS number ON number.account_id = seat.account_id AND number.agent_id = seat.agent_id
      CROSS JOIN ${deliveries} AS d ON d.inbox = number.n AND d.state = 'unread' AND d.seq > ${subscription}.seq
      CROSS JOIN ${messages} AS m ON m.account_id = d.sender_account_id AND m.id = d.message_id
      CROSS JOIN ${threadMessages} AS place ON place.account_id = d.account_id AND place.seq = m.seq
      WHERE seat.account_id = ${subscription}.account_id AND seat.user_id = ${subscription}.user_id`
  const hasUnnoted = db.select(one).from(sql`${pushSubscriptions} AS sub`)
    .where(sql`EXISTS (SELECT 1 FROM ${unnoted(sql`sub`)})`).limit(1).prepare()
  const found = sql`SELECT sub.account_id, sub.id AS subscription_id, place.thread_id,
      min(d.seq) AS first_seq, max(d.seq) AS last_seq, min(d.created_at) + ${p('quietMs')} AS due_at
    FROM ${pushSubscriptions} AS sub CROSS JOIN ${unnoted(sql`sub`)} AND m.channel_id IS NULL
    GROUP BY sub.account_id, sub.id, place.thread_id`
  const note = db.insert(pushNotices).select(
    db.select({
      accountId: sql<string>`account_id`.as('account_id'),
      subscriptionId: sql<string>`subscription_id`.as('subscription_id'),
      threadId: sql<number>`thread_id`.as('thread_id'),
      firstSeq: sql<number>`first_seq`.as('first_seq'),
      lastSeq: sql<number>`last_seq`.as('last_seq'),
      dueAt: sql<number>`due_at`.as('due_at'),
      tries: sql<number>`0`.as('tries'),
      pushedAt: sql<number>`0`.as('pushed_at'),
    }).from(sql`(${found}) AS found`).where(sql`true`),
  ).onConflictDoUpdate({
    target: [pushNotices.accountId, pushNotices.subscriptionId, pushNotices.threadId],
    set: {
      firstSeq: sql`iif(${pushNotices.dueAt} IS NULL, excluded.first_seq, ${pushNotices.firstSeq})`,
      lastSeq: sql`excluded.last_seq`,
      tries: sql`iif(${pushNotices.dueAt} IS NULL, 0, ${pushNotices.tries})`,
      dueAt: sql`coalesce(${pushNotices.dueAt}, max(excluded.due_at, ${pushNotices.pushedAt} + ${p('batchMs')}))`,
    },
  }).toSQL()
  const newest = sql`(SELECT max(d.seq) FROM ${unnoted(sql`push_subscriptions`)})`
  const advance = db.update(pushSubscriptions).set({ seq: sql`${newest}` }).where(sql`${newest} IS NOT NULL`).toSQL()

  const turn = sql`row_number() OVER (PARTITION BY sub.user_id ORDER BY notice.due_at) AS turn`
  const dueRows =
    sql`SELECT notice.account_id, notice.subscription_id, notice.thread_id, notice.due_at, sub.user_id, ${turn}
    FROM ${pushNotices} AS notice CROSS JOIN ${pushSubscriptions} AS sub
      ON sub.account_id = notice.account_id AND sub.id = notice.subscription_id
    WHERE notice.due_at <= ${p('at')}`
  const due = db.select({
    accountId: sql<string>`account_id`.as('account_id'),
    subscriptionId: sql<string>`subscription_id`.as('subscription_id'),
    threadId: sql<number>`thread_id`.as('thread_id'),
    userId: sql<string>`user_id`.as('user_id'),
    dueAt: sql<number>`due_at`.as('due_at'),
  }).from(sql`(${dueRows}) AS due`).where(sql`turn <= ${maxDueOfUser}`).orderBy(sql`due_at`).limit(p('limit')).prepare()

  const told = db.select({ row: sql`rowid` }).from(pushNotices)
    .where(and(isNull(pushNotices.dueAt), lte(pushNotices.pushedAt, p('until')))).limit(p('limit'))
  const removeTold = db.delete(pushNotices).where(sql`rowid IN ${told}`).returning(one).toSQL()

  const renew = db.update(pushSubscriptions).set({ sessionId: sql`${p('session')}` })
    .where(and(eq(pushSubscriptions.endpoint, p('endpoint')), eq(pushSubscriptions.userId, p('user'))))
    .returning(one).toSQL()
  const removeOthers = db.delete(pushSubscriptions)
    .where(and(eq(pushSubscriptions.endpoint, p('endpoint')), ne(pushSubscriptions.userId, p('user')))).toSQL()

  const digestsDue = db.select({
    accountId: mailDigests.accountId,
    userId: mailDigests.userId,
    nextAt: mailDigests.nextAt,
  }).from(mailDigests).where(lte(mailDigests.nextAt, p('at'))).orderBy(asc(mailDigests.nextAt)).limit(p('limit'))
    .prepare()
  const ofToken = eq(mailDigests.token, p('token'))
  const endDigest = db.delete(mailDigests).where(ofToken).returning(one).toSQL()

  crossAccountQueries.set(hasUnnoted.getQuery().sql, 'messages that browsers are not to be told of yet')
  for (const { sql: text } of [note, advance]) crossAccountQueries.set(text, 'what browsers are to be told of')
  crossAccountQueries.set(due.getQuery().sql, 'notifications that are due')
  crossAccountQueries.set(removeTold.sql, 'old notifications')
  for (const { sql: text } of [renew, removeOthers]) crossAccountQueries.set(text, 'subscriptions of a browser')
  crossAccountQueries.set(digestsDue.getQuery().sql, 'mail digests that are due')
  crossAccountQueries.set(endDigest.sql, 'mail digest by its token')

  return {
    /** The key pair for push services; undefined before it is first needed. */
    pushKey: async (id: string) => (await runQuery(key, { id }))[0],
    /** Does nothing if there is one, unless that is sealed with the key `lostKeyId` of the key ring. */
    addPushKey: (id: string, publicKey: string, sealed: SealedToken, lostKeyId: string | null, at: number): Statement =>
      bind(addKey, { id, publicKey, ...sealed, lostKeyId, at }),

    /** Whether messages have come that are not noted for the browsers of their recipient. */
    hasUnnoted: async () => (await runQuery(hasUnnoted)).length > 0,
    /**
     * Note the messages that have come for each browser of their recipient, to tell it after `quietMs`, and at most once
     * in `batchMs` of the same thread. Posts in channels are passed over. The statements are one unit; whoever commits it,
     * and however often, each message is noted once.
     */
    note: (quietMs: number, batchMs: number): Statement[] => [
      { ...bind(note, { quietMs, batchMs }), rows: 100 },
      { ...bind(advance, {}), rows: 100 },
    ],
    /** Notifications that are due at a time, the oldest first: a few of each person. */
    due: (at: number, limit: number): Promise<DueNotice[]> => runQuery(due, { at, limit }),
    /** Delete at most `limit` notes of threads whose browser was told by `until`, and returns a row for each. */
    removeTold: (until: number, limit: number): Statement => ({ ...bind(removeTold, { until, limit }), rows: limit }),

    /** The browser is signed in with another session now. Returns a row for each account that it is subscribed in. */
    renew: (endpoint: string, user: string, session: string): Statement => bind(renew, { endpoint, user, session }),
    /** End what other users of the same browser subscribed to. */
    removeOthers: (endpoint: string, user: string): Statement => bind(removeOthers, { endpoint, user }),

    /** Mail digests that are due at a time, the oldest first. */
    digestsDue: (at: number, limit: number) => runQuery(digestsDue, { at, limit }),
    /** End the emails with this token. No row if there are none. */
    endDigest: (token: string): Statement => bind(endDigest, { token }),
  }
}
