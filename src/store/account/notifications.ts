/** How the people of an account are notified of messages to their aliases. See docs/delivery.md, "Notifications". */
import { and, asc, desc, eq, gte, isNull, sql } from 'drizzle-orm'
import {
  accounts,
  deliveries,
  mailDigests,
  messages,
  pushNotices,
  pushSubscriptions,
  seats,
  threadMessages,
  users,
} from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account-old.ts'

/** How often a person gets an email about messages that wait. */
export type DigestPeriod = 'hourly' | 'daily'

/** A browser that is notified. Times are milliseconds since the epoch. */
export interface PushSubscription {
  id: string
  endpoint: string
  /** The session in which it was last seen. */
  sessionId: string
  /** In base64url. */
  p256dh: string
  auth: string
  /** The `User-Agent` header with which it subscribed. */
  userAgent: string
  createdAt: number
  lastSuccessAt: number | null
}

/** Most unread messages that are looked at for one notification or email. */
const maxUnread = 1_000

export function prepareNotifications(db: Db) {
  const subscriptionFields = {
    id: pushSubscriptions.id,
    endpoint: pushSubscriptions.endpoint,
    sessionId: pushSubscriptions.sessionId,
    p256dh: pushSubscriptions.p256dh,
    auth: pushSubscriptions.auth,
    userAgent: pushSubscriptions.userAgent,
    createdAt: pushSubscriptions.createdAt,
    lastSuccessAt: pushSubscriptions.lastSuccessAt,
  }
  const ofUser = eq(pushSubscriptions.userId, p('user'))
  const isOne = eq(pushSubscriptions.id, p('subscription'))
  const list = db.select(subscriptionFields).from(pushSubscriptions).where(inAccount(pushSubscriptions, ofUser))
    .orderBy(asc(pushSubscriptions.createdAt), asc(pushSubscriptions.id)).prepare()
  const byId = db.select({ ...subscriptionFields, accountName: accounts.name }).from(pushSubscriptions)
    .innerJoin(accounts, eq(accounts.id, pushSubscriptions.accountId))
    .where(inAccount(pushSubscriptions, isOne)).prepare()

  // The newest delivery of all: what came before is not new to a browser.
  const newest = sql<number>`coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'deliveries'), 0)`
  const add = db.insert(pushSubscriptions).select(
    db.select({
      accountId: seats.accountId,
      id: value('subscription'),
      userId: seats.userId,
      sessionId: value('session'),
      endpoint: value('endpoint'),
      p256dh: value('p256dh'),
      auth: value('auth'),
      userAgent: value('userAgent'),
      createdAt: value<number>('at'),
      lastSuccessAt: sql<number | null>`NULL`.as('last_success_at'),
      failures: sql<number>`0`.as('failures'),
      seq: newest.as('seq'),
    }).from(seats).where(inAccount(seats, eq(seats.userId, p('user')))),
  ).onConflictDoUpdate({
    target: [pushSubscriptions.endpoint, pushSubscriptions.accountId],
    set: {
      sessionId: sql`excluded.session_id`,
      p256dh: sql`excluded.p256dh`,
      auth: sql`excluded.auth`,
      userAgent: sql`excluded.user_agent`,
      failures: sql`0`,
    },
    setWhere: sql`${pushSubscriptions.userId} = excluded.user_id`,
  }).toSQL()
  const remove = db.delete(pushSubscriptions).where(inAccount(pushSubscriptions, ofUser, isOne))
    .returning({ id: pushSubscriptions.id }).toSQL()
  const removeGone = db.delete(pushSubscriptions).where(inAccount(pushSubscriptions, isOne)).toSQL()
  const succeed = db.update(pushSubscriptions).set({ lastSuccessAt: sql`${p('at')}`, failures: 0 })
    .where(inAccount(pushSubscriptions, isOne)).toSQL()
  const fail = db.update(pushSubscriptions).set({ failures: sql`${pushSubscriptions.failures} + 1` })
    .where(inAccount(pushSubscriptions, isOne)).toSQL()
  const removeFailing = db.delete(pushSubscriptions)
    .where(inAccount(pushSubscriptions, isOne, gte(pushSubscriptions.failures, p('maxFailures')))).toSQL()

  const isNotice = and(eq(pushNotices.subscriptionId, p('subscription')), eq(pushNotices.threadId, p('thread')))
  const isClaimed = eq(pushNotices.dueAt, p('dueAt'))
  const claim = db.update(pushNotices).set({ dueAt: sql`${p('until')}`, tries: sql`${pushNotices.tries} + 1` })
    .where(inAccount(pushNotices, isNotice, isClaimed)).returning({ tries: pushNotices.tries }).toSQL()
  const postpone = db.update(pushNotices).set({ dueAt: sql`${p('until')}` })
    .where(inAccount(pushNotices, isNotice, isClaimed)).toSQL()
  // What has come meanwhile is told later.
  const isMore = sql`${pushNotices.lastSeq} > ${p('toldSeq')}`
  const settle = db.update(pushNotices).set({
    dueAt: sql`iif(${isMore}, ${p('until')}, NULL)`,
    firstSeq: sql`iif(${isMore}, ${p('toldSeq')} + 1, ${pushNotices.firstSeq})`,
    pushedAt: sql`coalesce(${p('pushedAt')}, ${pushNotices.pushedAt})`,
    tries: 0,
  }).where(inAccount(pushNotices, isNotice, isClaimed)).toSQL()

  const isUnread = and(
    eq(
      deliveries.inbox,
      sql`(${
        inboxOf(
          p('account'),
          sql`(${db.select({ id: seats.agentId }).from(seats).where(inAccount(seats, eq(seats.userId, p('user'))))})`,
        )
      })`,
    ),
    sql`${deliveries.state} = 'unread'`,
  )
  const ofDelivery = and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId))
  const waits = { alias: messages.fromAlias, seq: deliveries.seq }
  const noticed = db.select({ one: pushNotices.firstSeq }).from(pushNotices).where(inAccount(pushNotices, isNotice))
  const inThread = db.select(waits).from(deliveries).innerJoin(messages, ofDelivery)
    .innerJoin(threadMessages, inAccount(threadMessages, eq(threadMessages.seq, messages.seq)))
    .where(and(
      isUnread,
      isNull(messages.channelId),
      eq(threadMessages.threadId, p('thread')),
      gte(deliveries.seq, sql`(${noticed})`),
    )).orderBy(desc(deliveries.seq)).limit(maxUnread).prepare()
  const unread = db.select(waits).from(deliveries).innerJoin(messages, ofDelivery)
    .where(and(isUnread, isNull(messages.channelId))).orderBy(desc(deliveries.seq)).limit(maxUnread).prepare()

  const digestOfUser = eq(mailDigests.userId, p('user'))
  const digest = db.select({
    period: mailDigests.period,
    nextAt: mailDigests.nextAt,
    toldSeq: mailDigests.toldSeq,
    token: mailDigests.token,
    email: users.email,
    emailVerifiedAt: users.emailVerifiedAt,
    accountName: accounts.name,
  }).from(mailDigests).innerJoin(users, eq(users.id, mailDigests.userId))
    .innerJoin(accounts, eq(accounts.id, mailDigests.accountId)).where(inAccount(mailDigests, digestOfUser)).prepare()
  const setDigest = db.insert(mailDigests).select(
    db.select({
      accountId: seats.accountId,
      userId: seats.userId,
      period: value<DigestPeriod>('period'),
      nextAt: value<number>('nextAt'),
      toldSeq: sql<number>`0`.as('told_seq'),
      token: value('token'),
    }).from(seats).where(inAccount(seats, eq(seats.userId, p('user')))),
  ).onConflictDoUpdate({
    target: [mailDigests.accountId, mailDigests.userId],
    set: { period: sql`excluded.period`, nextAt: sql`excluded.next_at` },
  }).toSQL()
  const endDigest = db.delete(mailDigests).where(inAccount(mailDigests, digestOfUser)).toSQL()
  const claimDigest = db.update(mailDigests).set({ nextAt: sql`${p('until')}` })
    .where(inAccount(mailDigests, digestOfUser, eq(mailDigests.nextAt, p('dueAt'))))
    .returning({ period: mailDigests.period }).toSQL()
  const tellDigest = db.update(mailDigests).set({ toldSeq: sql`max(${mailDigests.toldSeq}, ${p('toldSeq')})` })
    .where(inAccount(mailDigests, digestOfUser)).toSQL()
  const endAll = [pushSubscriptions, mailDigests].map((table) =>
    db.delete(table).where(inAccount(table, eq(table.userId, p('user')))).toSQL()
  )

  return {
    reads: (account: AccountBinding) => ({
      /** The browsers of a user, the oldest first. */
      subscriptions: (user: string): Promise<PushSubscription[]> => account.all(list, { user }),
      /** A browser, with the name of the account. */
      subscription: (subscription: string) => account.one(byId, { subscription }),
      /** The unread messages to the alias of a user that a notification is about, the newest first. */
      inThread: (user: string, subscription: string, thread: number) =>
        account.all(inThread, { user, subscription, thread }),
      /** The unread messages to the alias of a user, the newest first. Posts in channels are not among them. */
      unread: (user: string) => account.all(unread, { user }),
      /** The mail digest of a user, and where it goes; undefined if they want none. */
      digest: (user: string) => account.one(digest, { user }),
    }),
    changes: (account: AccountBinding) => ({
      /** Notify a browser from now on. Does nothing for a user without an alias, or if it is that of another user. */
      subscribe: (
        subscription: Pick<PushSubscription, 'id' | 'endpoint' | 'p256dh' | 'auth' | 'userAgent'> & {
          user: string
          session: string
        },
        at: number,
      ): Statement => {
        const { id, ...values } = subscription
        return account.bind(add, { ...values, subscription: id, at })
      },
      /** No row if the user has no such browser. */
      unsubscribe: (user: string, subscription: string): Statement => account.bind(remove, { user, subscription }),
      /** The push service does not know the browser any more. */
      removeGone: (subscription: string): Statement => account.bind(removeGone, { subscription }),
      /** The push service has accepted a notification. */
      succeed: (subscription: string, at: number): Statement => account.bind(succeed, { subscription, at }),
      /** A notification was given up. After `maxFailures` in a row the browser is not notified any more. */
      fail: (subscription: string, maxFailures: number): Statement[] => [
        account.bind(fail, { subscription }),
        account.bind(removeFailing, { subscription, maxFailures }),
      ],

      /** Take a notification that became due at `dueAt`: nobody else does until `until`. No row if somebody has. */
      claim: (subscription: string, thread: number, dueAt: number, until: number): Statement =>
        account.bind(claim, { subscription, thread, dueAt, until }),
      /** Try a notification that was claimed until `dueAt` again at another time. */
      postpone: (subscription: string, thread: number, dueAt: number, until: number): Statement =>
        account.bind(postpone, { subscription, thread, dueAt, until }),
      /**
       * A notification that was claimed until `dueAt` is done, up to the delivery `toldSeq`. What has come since is due at
       * `until`. `pushedAt` is null if the browser was told nothing.
       */
      settle: (
        subscription: string,
        thread: number,
        done: { dueAt: number; toldSeq: number; until: number; pushedAt: number | null },
      ): Statement => account.bind(settle, { subscription, thread, ...done }),

      /** Send a mail digest from now on, or at other times. Does nothing for a user without an alias. */
      setDigest: (user: string, period: DigestPeriod, nextAt: number, token: string): Statement =>
        account.bind(setDigest, { user, period, nextAt, token }),
      endDigest: (user: string): Statement => account.bind(endDigest, { user }),
      /** Move a digest that is due at `dueAt` on. No row if somebody has. */
      claimDigest: (user: string, dueAt: number, until: number): Statement =>
        account.bind(claimDigest, { user, dueAt, until }),
      /** An email was about the messages up to a delivery. */
      tellDigest: (user: string, toldSeq: number): Statement => account.bind(tellDigest, { user, toldSeq }),

      /** Notify a user of nothing more. */
      endAll: (user: string): Statement[] => endAll.map((statement) => account.bind(statement, { user })),
    }),
  }
}
