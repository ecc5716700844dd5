/** Stores how people are notified of messages, in browsers and by email. See docs/web.md, "Notifications". */
import type { SealedToken } from '../../lib/key-ring.ts'
import { hour } from '../../lib/time.ts'
import { mayDecide } from '../../store/account/deciders.ts'
import { agentOf, inboxOf } from '../../store/account/inbox-message.ts'
import { stillWaits } from '../../store/account/questions.ts'
import { inBatch } from '../../store/global/conversations.ts'
import { isAtPosition } from '../../store/global/pulse.ts'
import {
  type AccountDb,
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  excludedToken,
  insertedToken,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../../store/sql.ts'

export type DigestPeriod = 'hourly' | 'daily'

export interface PushSubscription {
  id: string
  endpoint: string
  sessionId: string
  p256dh: string
  auth: string
  userAgent: string
  createdAt: number
  lastSuccessAt: number | null
}

/** A notification of messages to the person (`message`), to others (`news`), or for the person to decide (`held`). */
export interface Notice {
  subscriptionId: string
  threadId: number
  kind: 'message' | 'news' | 'held'
}

const keyOf = ({ subscriptionId, threadId, kind }: Notice) => ({ subscription: subscriptionId, thread: threadId, kind })

const maxUnread = 1_000

/** Minimum interval between two news notifications of a conversation in a browser, and maximum age of news. */
export const newsMs = hour

interface Digest {
  period: DigestPeriod
  nextAt: number
  notifiedSeq: number
  notifiedNewsSeq: number
  token: string
  email: string
  emailVerifiedAt: number | null
  accountName: string
}

const selectSubscriptions = `SELECT push_subscriptions.id, push_subscriptions.endpoint, push_subscriptions.session_id,
    push_subscriptions.p256dh, push_subscriptions.auth, push_subscriptions.user_agent, push_subscriptions.created_at,
    push_subscriptions.last_success_at`
const list = query<PushSubscription>(`
  ${selectSubscriptions} FROM push_subscriptions WHERE account_id = :account AND user_id = :user
  ORDER BY created_at, id`)
const byId = query<PushSubscription & { accountName: string }>(`
  ${selectSubscriptions}, accounts.name AS account_name
  FROM push_subscriptions JOIN accounts ON accounts.id = push_subscriptions.account_id
  WHERE push_subscriptions.account_id = :account AND push_subscriptions.id = :subscription`)
const add = statement(`
  INSERT INTO push_subscriptions
    (account_id, id, user_id, session_id, endpoint, p256dh, auth, user_agent, created_at)
  SELECT account_id, :subscription, user_id, :session, :endpoint, :p256dh, :auth, :userAgent, :at
  FROM person_aliases WHERE account_id = :account AND user_id = :user
  ON CONFLICT (endpoint, account_id) DO UPDATE SET session_id = excluded.session_id, p256dh = excluded.p256dh,
    auth = excluded.auth, user_agent = excluded.user_agent, failures = 0
  WHERE push_subscriptions.user_id = excluded.user_id`)
const isOne = `account_id = :account AND id = :subscription`
const remove = statement(`DELETE FROM push_subscriptions WHERE ${isOne} AND user_id = :user RETURNING id`)
const removeGone = statement(`DELETE FROM push_subscriptions WHERE ${isOne}`)
const succeed = statement(`UPDATE push_subscriptions SET last_success_at = :at, failures = 0 WHERE ${isOne}`)
const fail = statement(`UPDATE push_subscriptions SET failures = failures + 1 WHERE ${isOne}`)
const removeFailing = statement(`DELETE FROM push_subscriptions WHERE ${isOne} AND failures >= :maxFailures`)

const isNotice = `account_id = :account AND subscription_id = :subscription AND thread_id = :thread
  AND kind = :kind`
const claim = statement(`
  UPDATE push_notices SET due_at = :until, tries = tries + 1 WHERE ${isNotice} AND due_at = :dueAt RETURNING tries`)
const postpone = statement(`UPDATE push_notices SET due_at = :until WHERE ${isNotice} AND due_at = :dueAt`)
// If newer messages have arrived, they get a later notification.
const settle = statement(`
  UPDATE push_notices SET first_seq = iif(last_seq > :notifiedSeq, :notifiedSeq + 1, first_seq),
    due_at = iif(last_seq > :notifiedSeq, :until, NULL), tries = 0, pushed_at = coalesce(:pushedAt, pushed_at)
  WHERE ${isNotice} AND due_at = :dueAt`)

const ownAgent =
  `(SELECT person_aliases.agent_id FROM person_aliases WHERE person_aliases.account_id = :account AND person_aliases.user_id = :user)`
const joinMessage = `JOIN messages
    ON messages.seq = deliveries.seq`
const isTo = `deliveries.inbox = ${inboxOf(ownAgent)} AND messages.channel_id IS NULL`
// Includes messages that were read, because an agent's message waits until it is answered or one of its choices is
// chosen.
const inThread = query<{ alias: string; seq: number }>(
  ['unread', 'read'].map((state) => `
  SELECT messages.from_alias AS alias, deliveries.seq AS seq FROM deliveries
  ${joinMessage}
  JOIN thread_messages ON thread_messages.account_id = :account AND thread_messages.seq = messages.seq
  WHERE ${isTo} AND deliveries.state = '${state}' AND thread_messages.thread_id = :thread
    AND deliveries.seq >= (SELECT first_seq FROM push_notices WHERE ${isNotice})
    AND iif(messages.type = 'agent', ${stillWaits(ownAgent, ':user', ':thread')}, ${state === 'unread'})`)
    .join('UNION ALL') + ` ORDER BY seq DESC LIMIT ${maxUnread}`,
)
const unread = query<{ alias: string; seq: number }>(`
  SELECT messages.from_alias AS alias, deliveries.seq FROM deliveries
  ${joinMessage}
  WHERE ${isTo} AND deliveries.state = 'unread' AND messages.type <> 'agent'
  ORDER BY deliveries.seq DESC LIMIT ${maxUnread}`)

/** A message that a person is notified of although they are not a recipient. */
interface News {
  threadId: number
  seq: number
  at: number
  alias: string
  text: string
  channel: string | null
  channelId: string | null
  /** Ids of the sender and recipients of a direct message, as JSON. */
  agents: string
}

const news = query<News>(`
  SELECT seen.thread_id, messages.seq, messages.created_at AS at, messages.from_alias AS alias, messages.body AS text,
    channels.name AS channel, messages.channel_id, (
      SELECT json_group_array(one.agent_id) FROM (
        SELECT messages.from_agent_id AS agent_id
        UNION SELECT ${agentOf('to_agents')} FROM deliveries AS to_agents
        WHERE messages.channel_id IS NULL AND to_agents.seq = messages.seq) AS one) AS agents
  FROM thread_seen AS seen
  CROSS JOIN messages ON messages.seq = seen.news_seq AND messages.account_id = :account
  LEFT JOIN channels ON channels.account_id = :account AND channels.id = messages.channel_id
  WHERE seen.account_id = :account AND seen.user_id = :user AND seen.news_seq > max(seen.seq, :after)
    AND (:thread = 0 OR seen.thread_id = :thread)
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.seq = messages.seq
      AND deliveries.state = 'retracted')
  ORDER BY messages.seq DESC LIMIT ${maxUnread}`)

const digest = query<Digest>(`
  SELECT mail_digests.period, mail_digests.next_at, mail_digests.notified_seq, mail_digests.notified_news_seq,
    mail_digests.token, users.email,
    users.email_verified_at, accounts.name AS account_name
  FROM mail_digests
  JOIN users ON users.id = mail_digests.user_id
  JOIN accounts ON accounts.id = mail_digests.account_id
  WHERE mail_digests.account_id = :account AND mail_digests.user_id = :user`)
const setDigest = statement(`
  INSERT INTO mail_digests (account_id, user_id, period, next_at, token)
  SELECT account_id, user_id, :period, :nextAt, :token FROM person_aliases WHERE account_id = :account AND user_id = :user
  ON CONFLICT (account_id, user_id) DO UPDATE SET period = excluded.period, next_at = excluded.next_at`)
const endDigest = statement(`DELETE FROM mail_digests WHERE account_id = :account AND user_id = :user`)
const claimDigest = statement(`
  UPDATE mail_digests SET next_at = :until WHERE account_id = :account AND user_id = :user AND next_at = :dueAt
  RETURNING period`)
const notifyByDigest = statement(`
  UPDATE mail_digests SET notified_seq = max(notified_seq, :notifiedSeq), notified_news_seq = max(notified_news_seq, :notifiedNewsSeq)
  WHERE account_id = :account AND user_id = :user`)

export const notificationTables = {
  reads: (account: AccountDb) => ({
    subscriptions: (user: string): Promise<PushSubscription[]> => account.all(list, { user }),
    subscription: (subscription: string) => account.one(byId, { subscription }),
    /** A notification's messages that still wait for the user, newest first. */
    inThread: (user: string, subscription: string, thread: number) =>
      account.all(inThread, { user, subscription, thread, kind: 'message' }),
    /**
     * For each thread, or for the given one, the newest unseen message that is news for the user. The caller must check
     * whether the user may read it.
     */
    news: (user: string, { thread = 0, after = 0 }: { thread?: number; after?: number }): Promise<News[]> =>
      account.all(news, { user, thread, after }),
    /** Unread messages from people to a user's alias, newest first. Channel posts are excluded. */
    unread: (user: string) => account.all(unread, { user }),
    /** A user's digest settings and email address. Undefined if they get no digests. */
    digest: (user: string) => account.one(digest, { user }),
  }),
  changes: (account: AccountDb) => ({
    /** Starts notifying a browser. Does nothing if the user has no alias or the browser belongs to another user. */
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
    unsubscribe: (user: string, subscription: string): Statement => account.bind(remove, { user, subscription }),
    removeGone: (subscription: string): Statement => account.bind(removeGone, { subscription }),
    succeed: (subscription: string, at: number): Statement => account.bind(succeed, { subscription, at }),
    /** Records an abandoned notification. After `maxFailures` in a row, the browser is no longer notified. */
    fail: (subscription: string, maxFailures: number): Statement[] => [
      account.bind(fail, { subscription }),
      account.bind(removeFailing, { subscription, maxFailures }),
    ],

    /** Claims a notification due at `dueAt`, until `until`. Returns no row if another process has claimed it. */
    claim: (notice: Notice, dueAt: number, until: number): Statement =>
      account.bind(claim, { ...keyOf(notice), dueAt, until }),
    postpone: (notice: Notice, dueAt: number, until: number): Statement =>
      account.bind(postpone, { ...keyOf(notice), dueAt, until }),
    /**
     * Completes a notification of messages up to the number `notifiedSeq`. `pushedAt` is null if the browser was not
     * notified.
     */
    settle: (
      notice: Notice,
      done: { dueAt: number; notifiedSeq: number; until: number; pushedAt: number | null },
    ): Statement => account.bind(settle, { ...keyOf(notice), ...done }),

    /** Starts sending digests, or changes their schedule. Does nothing for a user without an alias. */
    setDigest: (user: string, period: DigestPeriod, nextAt: number, token: string): Statement =>
      account.bind(setDigest, { user, period, nextAt, token }),
    endDigest: (user: string): Statement => account.bind(endDigest, { user }),
    /** Advances a digest that is due at `dueAt`. Returns no row if another process has already done so. */
    claimDigest: (user: string, dueAt: number, until: number): Statement =>
      account.bind(claimDigest, { user, dueAt, until }),
    notifyByDigest: (user: string, notifiedSeq: number, notifiedNewsSeq: number): Statement =>
      account.bind(notifyByDigest, { user, notifiedSeq, notifiedNewsSeq }),
  }),
}

export interface DueNotice extends Notice {
  accountId: string
  userId: string
  dueAt: number
}

/** Maximum number of notifications sent to one person at a time, so that a slow push service does not delay others. */
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

/** Adds messages to a pending notification. Messages that arrive soon after a sent notification wait for `batchMs`. */
const elseLater = (batchMs: string) =>
  `ON CONFLICT (account_id, subscription_id, thread_id, kind) DO UPDATE SET
    first_seq = iif(push_notices.due_at IS NULL, excluded.first_seq, push_notices.first_seq),
    last_seq = excluded.last_seq,
    due_at = coalesce(push_notices.due_at, max(excluded.due_at, push_notices.pushed_at + ${batchMs})),
    tries = iif(push_notices.due_at IS NULL, 0, push_notices.tries)`
// With this condition SQLite uses an index.
const existBrowsers = `EXISTS (SELECT 1 FROM push_subscriptions WHERE push_subscriptions.account_id > '')`
// Channel posts are omitted, because `noteNews` covers them.
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
const noteNews = crossAccountStatement(
  'news of new messages',
  `
  INSERT INTO push_notices (account_id, subscription_id, thread_id, kind, first_seq, last_seq, due_at)
  SELECT sub.account_id, sub.id, seen.thread_id, 'news', max(seen.news_seq), max(seen.news_seq), :dueAt
  FROM json_each(:seqs) AS one CROSS JOIN messages AS m CROSS JOIN thread_messages AS place
  CROSS JOIN thread_seen AS seen CROSS JOIN push_subscriptions AS sub
  WHERE m.seq = one.value AND place.account_id = m.account_id AND place.seq = m.seq
    AND seen.account_id = place.account_id AND seen.thread_id = place.thread_id AND seen.news_seq = place.seq
    AND sub.account_id = seen.account_id AND sub.user_id = seen.user_id AND m.created_at > :since
    AND ${isAtPosition}
  GROUP BY sub.account_id, sub.id, seen.thread_id
  ${elseLater(String(newsMs))}
  WHERE excluded.last_seq > push_notices.last_seq`,
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
const endDigestByToken = crossAccountStatement(
  'mail digest by its token',
  `DELETE FROM mail_digests WHERE token = :token RETURNING 1`,
)

/** Notifications of all accounts, and the key pair for push services. */
export const allNotifications = (db: Db) => ({
  /** The key pair for push services. Undefined before it is first needed. */
  pushKey: (id: string) => db.one(key, { id }),
  /** Adds a key pair. An existing one is replaced only if it is sealed with `lostKeyId`, a lost key of the key ring. */
  addPushKey: (id: string, publicKey: string, sealed: SealedToken, lostKeyId: string | null, at: number): Statement =>
    db.bind(addKey, { id, publicKey, ...sealed, lostKeyId, at }),

  /**
   * Records the messages of a batch for their recipients' browsers, unless another process has done so. A browser is
   * notified after `quietMs`, at most once per `batchMs` about the same thread.
   */
  noteMessages: (batch: { after: number; upTo: number }, delays: { quietMs: number; batchMs: number }): Statement => ({
    ...db.bind(noteMessages, { ...batch, ...delays, follower: 'browser messages' }),
    rows: 100,
    isTraffic: true,
  }),
  /** Records held messages like `noteMessages`. Also removes the subscriptions of ended sessions. */
  noteEvents: (batch: { after: number; upTo: number }, delays: { quietMs: number; batchMs: number }): Statement[] => [
    { ...db.bind(noteHeld, { ...batch, ...delays, follower: 'browser events' }), rows: 100, isTraffic: true },
    { ...db.bind(endOfSessions, { ...batch, follower: 'browser events' }), rows: 10, isTraffic: true },
  ],
  /**
   * Records messages that are news for non-recipients, by their numbers. Must be part of the unit that advances the
   * follower `search` from `after`.
   */
  noteNews: (seqs: readonly number[], after: number, { at, quietMs }: { at: number; quietMs: number }): Statement => ({
    ...db.bind(noteNews, {
      ...{ seqs: JSON.stringify(seqs), after, follower: 'search', since: at - newsMs, dueAt: at + quietMs },
    }),
    rows: seqs.length,
    isTraffic: true,
  }),
  due: (at: number, limit: number): Promise<DueNotice[]> => db.all(due, { at, limit }),

  /** Moves the browser's subscriptions to another session. Returns a row for each account with a subscription. */
  renew: (endpoint: string, user: string, session: string): Statement => db.bind(renew, { endpoint, user, session }),
  removeOthers: (endpoint: string, user: string): Statement => db.bind(removeOthers, { endpoint, user }),

  digestsDue: (at: number, limit: number) => db.all(digestsDue, { at, limit }),
  /** Ends the digests whose links contain this token. Returns no row if there are none. */
  endDigest: (token: string): Statement => db.bind(endDigestByToken, { token }),
})
