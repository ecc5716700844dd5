/** How the people of an account are notified of messages to their aliases. See docs/delivery.md, "Notifications". */
import { agentOf, inboxOf } from './inbox-message.ts'
import { type AccountDb, query, type Statement, statement } from '../sql.ts'
import { stillWaits } from './questions.ts'

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

/** `message`: of messages to the person; `news`: of others that they are told of; `held`: of what waits for their decision. */
export interface Notice {
  subscriptionId: string
  threadId: number
  kind: 'message' | 'news' | 'held'
}

const keyOf = ({ subscriptionId, threadId, kind }: Notice) => ({ subscription: subscriptionId, thread: threadId, kind })

const maxUnread = 1_000

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
// What has come since is told later.
const settle = statement(`
  UPDATE push_notices SET first_seq = iif(last_seq > :notifiedSeq, :notifiedSeq + 1, first_seq),
    due_at = iif(last_seq > :notifiedSeq, :until, NULL), tries = 0, pushed_at = coalesce(:pushedAt, pushed_at)
  WHERE ${isNotice} AND due_at = :dueAt`)

const ownAgent =
  `(SELECT person_aliases.agent_id FROM person_aliases WHERE person_aliases.account_id = :account AND person_aliases.user_id = :user)`
const joinMessage = `JOIN messages
    ON messages.seq = deliveries.seq`
const isTo = `deliveries.inbox = ${inboxOf(ownAgent)} AND messages.channel_id IS NULL`
// Of both halves of the inbox: what an agent wrote waits until it is answered, also after it was read; a choice until one is taken.
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

/** A message that is not to a person and that they are to be told of. */
interface News {
  threadId: number
  seq: number
  at: number
  alias: string
  text: string
  channel: string | null
  channelId: string | null
  /** JSON of the ids of the sender and the recipients of a direct message. */
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
const endSubscriptions = statement(`DELETE FROM push_subscriptions WHERE account_id = :account AND user_id = :user`)

export const notifications = {
  reads: (account: AccountDb) => ({
    subscriptions: (user: string): Promise<PushSubscription[]> => account.all(list, { user }),
    subscription: (subscription: string) => account.one(byId, { subscription }),
    /** What waits for a user, of the messages that a notification is about, the newest first. */
    inThread: (user: string, subscription: string, thread: number) =>
      account.all(inThread, { user, subscription, thread, kind: 'message' }),
    /**
     * The newest message of each thread, or of this one, that the user was not shown and is to be told of though it is not
     * to them. Whether they may read it is not decided here.
     */
    news: (user: string, { thread = 0, after = 0 }: { thread?: number; after?: number }): Promise<News[]> =>
      account.all(news, { user, thread, after }),
    /** The unread messages of people to the alias of a user, the newest first. Posts in channels are not among them. */
    unread: (user: string) => account.all(unread, { user }),
    /** The mail digest of a user, and where it goes; undefined if they want none. */
    digest: (user: string) => account.one(digest, { user }),
  }),
  changes: (account: AccountDb) => ({
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
    unsubscribe: (user: string, subscription: string): Statement => account.bind(remove, { user, subscription }),
    removeGone: (subscription: string): Statement => account.bind(removeGone, { subscription }),
    succeed: (subscription: string, at: number): Statement => account.bind(succeed, { subscription, at }),
    /** A notification was given up. After `maxFailures` in a row the browser is not notified any more. */
    fail: (subscription: string, maxFailures: number): Statement[] => [
      account.bind(fail, { subscription }),
      account.bind(removeFailing, { subscription, maxFailures }),
    ],

    /** Take a notification that became due at `dueAt`: no other process does until `until`. No row if one has. */
    claim: (notice: Notice, dueAt: number, until: number): Statement =>
      account.bind(claim, { ...keyOf(notice), dueAt, until }),
    postpone: (notice: Notice, dueAt: number, until: number): Statement =>
      account.bind(postpone, { ...keyOf(notice), dueAt, until }),
    /** A notification is done, up to the number `notifiedSeq` of its kind. `pushedAt` is null if the browser was told nothing. */
    settle: (
      notice: Notice,
      done: { dueAt: number; notifiedSeq: number; until: number; pushedAt: number | null },
    ): Statement => account.bind(settle, { ...keyOf(notice), ...done }),

    /** Send a mail digest from now on, or at other times. Does nothing for a user without an alias. */
    setDigest: (user: string, period: DigestPeriod, nextAt: number, token: string): Statement =>
      account.bind(setDigest, { user, period, nextAt, token }),
    endDigest: (user: string): Statement => account.bind(endDigest, { user }),
    /** Move a digest that is due at `dueAt` on. No row if another process has. */
    claimDigest: (user: string, dueAt: number, until: number): Statement =>
      account.bind(claimDigest, { user, dueAt, until }),
    notifyByDigest: (user: string, notifiedSeq: number, notifiedNewsSeq: number): Statement =>
      account.bind(notifyByDigest, { user, notifiedSeq, notifiedNewsSeq }),

    endAll: (user: string): Statement[] => [endSubscriptions, endDigest].map((query) => account.bind(query, { user })),
  }),
}
