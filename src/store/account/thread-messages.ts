/** Messages in the account's threads, their state, and reply chains. */
import type { agents, deliveries, messages } from '../../../db/schema.ts'
import { type AccountDb, query } from '../sql.ts'
import { agentOf, givenDetails, inboxOf } from './inbox-message.ts'

/** A thread's message as stored; flags are 0 or 1. */
export interface PlacedMessage {
  seq: number
  threadId: number
  /** The first message of its chain; its own `seq` if the message it replies to is missing. */
  rootSeq: number
  id: string
  fromAgentId: string
  fromAlias: string
  /** The sender now belongs to another account. */
  isForeign: number
  /** The message is stored in another account. */
  isReceived: number
  type: typeof messages.$inferSelect.type
  via: typeof messages.$inferSelect.via
  recipient: string
  body: string
  /** JSON text of its A2A fields, which may be damaged. */
  a2a: string | null
  conversationId: string | null
  replyToMessageId: string | null
  flagged: number
  sanitized: number
  edited: number
  sharedWith: string | null
  hops: number
  createdAt: number
  /** The reader's agent, if this is a version delivered only to it. */
  changedFor: string | null
}

/** Why a message ended unread. */
export type EndedState = 'withdrawn' | 'expired' | 'retracted'

/**
 * A message's state at one recipient. For an inbox of another account, most fields are null, because they are not
 * shown.
 */
export interface Receipt {
  seq: number
  agentId: string
  /** Null for an agent of another account. The message's `recipient` contains its alias. */
  alias: string | null
  /** `leased`: a reader has received it, but has not acknowledged it yet. */
  state: 'unread' | 'leased' | 'read' | 'parked' | EndedState
  storedAt: number
  wokenAt: number | null
  readAt: number | null
  releaseCount: number
  repliedAt: number | null
}

/** SQL for the message `m`: `own` (with `join`) if stored in the account, `delivered` if delivered to it as `d`. */
export function ofMessage(seq: string, own: string, delivered = own, join = ''): string {
  return `coalesce(
    (SELECT ${own} FROM messages AS m ${join} WHERE m.account_id = :account AND m.seq = ${seq}),
    (SELECT ${delivered} FROM messages AS m
      JOIN deliveries AS d ON d.seq = m.seq
      WHERE d.account_id = :account AND m.seq = ${seq} LIMIT 1))`
}

// Cross joins, so that each query starts with these few positions.
const listed = 'json_each(:seqs) AS listed'
// The sender is not in the account, or a claim has moved it to a different account.
const isForeign = `NOT EXISTS (SELECT 1 FROM agents WHERE agents.account_id = :account
  AND agents.id = messages.from_agent_id AND agents.moved_to IS NULL)`
const columns = (body: string, a2a: string, flagged: string, isReceived: number, changedFor = 'NULL') => `
  thread_messages.seq, thread_messages.thread_id, thread_messages.root_seq, messages.id, messages.from_agent_id,
  messages.from_alias, ${isForeign} AS is_foreign, ${isReceived} AS is_received, messages.type, messages.via,
  messages.recipient, ${body} AS body, ${a2a} AS a2a,
  messages.conversation_id, messages.reply_to_message_id, ${flagged} AS flagged, messages.sanitized, messages.edited,
  messages.hops,
  messages.shared_with, messages.created_at, ${changedFor} AS changed_for`
/**
 * The deliveries to the alias of the user `:user` that have a version of their own, as `changed`. `message` belongs to
 * the account.
 */
export const joinChanged = (message: string) =>
  `LEFT JOIN deliveries AS changed
  ON changed.seq = ${message}.seq AND changed.body IS NOT NULL AND changed.inbox = ${
    inboxOf(
      '(SELECT person_aliases.agent_id FROM person_aliases WHERE person_aliases.account_id = :account AND person_aliases.user_id = :user)',
    )
  }`
const isPlaced = `thread_messages.account_id = :account AND thread_messages.seq = listed.value`
// A message of another account has one recipient in this account, because a channel's agents belong to one account. So
// the join with `deliveries` cannot duplicate it.
/** The messages whose numbers are the `value`s of `listed`. */
const placed = (listed: string) => `
  SELECT ${
  columns(
    'coalesce(changed.body, messages.body)',
    givenDetails('changed'),
    'messages.flagged OR coalesce(changed.flagged, 0)',
    0,
    agentOf('changed'),
  )
}
  FROM ${listed} CROSS JOIN thread_messages CROSS JOIN messages ${joinChanged('messages')}
  WHERE ${isPlaced} AND messages.account_id = thread_messages.account_id AND messages.seq = thread_messages.seq
  UNION ALL
  SELECT ${
  columns(
    'coalesce(deliveries.body, messages.body)',
    givenDetails(),
    'messages.flagged OR deliveries.flagged',
    1,
  )
}
  FROM ${listed} CROSS JOIN thread_messages CROSS JOIN messages CROSS JOIN deliveries
  WHERE ${isPlaced} AND messages.seq = thread_messages.seq AND messages.account_id <> thread_messages.account_id
    AND deliveries.seq = messages.seq
    AND deliveries.account_id = thread_messages.account_id
  ORDER BY 1`
const bySeqs = query<PlacedMessage>(placed(listed))
const chosen = (numbers: string) => query<PlacedMessage>(`WITH listed AS MATERIALIZED (${numbers}) ${placed('listed')}`)

const half = (isHalf: string, order: string, limit: string) => `
  SELECT * FROM (
    SELECT thread_messages.seq AS value FROM thread_messages
    WHERE thread_messages.account_id = :account AND thread_messages.thread_id = :thread
      AND thread_messages.seq >= :from AND ${isHalf}
    ORDER BY ${order} LIMIT ${limit})`
const near = half('thread_messages.seq < :anchor', 'thread_messages.seq DESC', ':older') + ' UNION ALL ' +
  half('thread_messages.seq >= :anchor', 'thread_messages.seq', ':newer')
// The answered message is stored in the account, or was delivered to it.
const answered = (source: 'messages' | 'deliveries') => `
  SELECT place.seq AS value FROM page CROSS JOIN ${source} CROSS JOIN thread_messages AS place
  WHERE page.reply_to_message_id IS NOT NULL AND place.account_id = :account AND place.seq = ${source}.seq
    AND place.thread_id = :thread AND place.seq NOT IN (SELECT value FROM near)`
const aroundAnchor = query<PlacedMessage>(`
  WITH near AS MATERIALIZED (${near}),
  page AS MATERIALIZED (${placed('near AS listed')}),
  answered AS MATERIALIZED (
    ${answered('messages')} AND messages.account_id = :account AND messages.id = page.reply_to_message_id
    UNION ${answered('deliveries')}
      AND deliveries.account_id = :account AND deliveries.external_message_id = page.reply_to_message_id)
  SELECT * FROM page UNION ALL SELECT * FROM (${placed('answered AS listed')}) ORDER BY 1`)
const newestOfThreads = chosen(`
  SELECT place.seq AS value FROM json_each(:threads) AS thread CROSS JOIN thread_messages AS place
  WHERE place.account_id = :account AND place.thread_id = thread.value AND place.seq IN (
    SELECT newest.seq FROM thread_messages AS newest
    WHERE newest.account_id = :account AND newest.thread_id = thread.value ORDER BY newest.seq DESC LIMIT :limit)
  ORDER BY place.seq DESC LIMIT :limit`)

// Messages are stored in order of time, apart from clock differences. So the first one since a time is found by binary
// search: 33 steps in a thread of any length.
const ofThread = `thread_messages.account_id = :account AND thread_messages.thread_id = :thread`
const newestUpTo = (seq: string) => `(SELECT max(seq) FROM thread_messages WHERE ${ofThread} AND seq <= ${seq})`
const firstSince = query<{ seq: number | null }>(`
  SELECT min(up_to) + 1 AS seq FROM (
    WITH RECURSIVE search(up_to, step) AS (
      SELECT min(seq) - 1, 1 << 32 FROM thread_messages WHERE ${ofThread}
      UNION ALL
      SELECT up_to + iif(${ofMessage(newestUpTo('up_to + step'), 'm.created_at')} < :at, step, 0), step / 2
      FROM search WHERE step > 0
    ) SELECT up_to FROM search WHERE step = 0) AS found
  LIMIT 1`)

// The condition matches the index. `+` keeps the planner from scanning all messages in order.
const chain = chosen(`
  WITH member AS MATERIALIZED (SELECT root_seq FROM thread_messages WHERE account_id = :account AND seq = :seq)
  SELECT root_seq AS value FROM member UNION ALL SELECT * FROM (
    SELECT thread_messages.seq FROM member CROSS JOIN thread_messages
    WHERE thread_messages.account_id = :account AND thread_messages.root_seq = member.root_seq
      AND thread_messages.root_seq <> thread_messages.seq
    ORDER BY +thread_messages.seq LIMIT :limit)`)
const isNamed = 'IN (SELECT value FROM json_each(:messages))'
const seqsOf = `
  SELECT messages.seq AS value FROM messages WHERE messages.account_id = :account AND messages.id ${isNamed}
  UNION ALL
  SELECT seq FROM deliveries WHERE account_id = :account AND external_message_id ${isNamed}`
const byIds = chosen(seqsOf)

// For an inbox of another account, only whether and when its agent read and replied is shown.
const isOurs = 'deliveries.account_id = :account'
const isAt = 'deliveries.seq = messages.seq'
const isRecipient = `agents.account_id = deliveries.account_id AND agents.id = ${agentOf()}`
const hasEnded = `deliveries.state IN ('withdrawn', 'expired', 'retracted')`
// `+` keeps the planner from scanning all of the account's messages in order of time.
const receiptColumns = `messages.seq, agents.id AS agent_id,
  iif(${isOurs}, agents.alias, NULL) AS alias,
  CASE WHEN deliveries.state = 'unread' OR ${hasEnded} THEN deliveries.state
    WHEN ${isOurs} AND deliveries.state = 'parked' THEN 'parked'
    WHEN ${isOurs} AND EXISTS (SELECT 1 FROM leases AS lease
      WHERE lease.account_id = deliveries.account_id AND lease.id = deliveries.lease_id) THEN 'leased'
    WHEN deliveries.state = 'parked' THEN 'unread' ELSE 'read' END AS state,
  deliveries.created_at AS stored_at,
  iif(${isOurs}, deliveries.woken_at, NULL) AS woken_at,
  iif(${isOurs} OR deliveries.state = 'read' OR ${hasEnded}, deliveries.read_at, NULL) AS read_at,
  iif(${isOurs}, deliveries.release_count, 0) AS release_count,
  (SELECT min(reply.created_at) FROM messages AS reply
    CROSS JOIN thread_messages AS place ON place.account_id = :account AND place.seq = reply.seq
    WHERE reply.reply_to_message_id = messages.id AND +reply.account_id = deliveries.account_id
      AND reply.from_agent_id = agents.id AND reply.type <> 'system') AS replied_at`
const fromListed = `FROM ${listed} CROSS JOIN messages CROSS JOIN deliveries CROSS JOIN agents`
const direct = query<Receipt>(`
  SELECT ${receiptColumns} ${fromListed}
  WHERE messages.account_id = :account AND messages.seq = listed.value AND messages.channel_id IS NULL
    AND ${isAt} AND ${isRecipient}
  UNION ALL
  SELECT ${receiptColumns} ${fromListed}
  WHERE messages.seq = listed.value AND messages.account_id <> :account AND ${isAt}
    AND deliveries.account_id = :account AND ${isRecipient}`)
const ofPost = query<Receipt>(`
  SELECT ${receiptColumns} FROM messages JOIN deliveries ON ${isAt} JOIN agents ON ${isRecipient}
  WHERE messages.account_id = :account AND messages.seq = :seq AND messages.channel_id IS NOT NULL
    AND agents.id > :after
  ORDER BY agents.id LIMIT :limit`)
/** How many recipients a post has, and how many of them have not read it, by delivery state. */
interface PostCounts {
  seq: number
  recipients: number
  unread: number
  parked: number
  expired: number
  retracted: number
}

const posts = query<PostCounts>(`
  SELECT messages.seq, count(*) AS recipients, count(iif(deliveries.state = 'unread', 1, NULL)) AS unread,
    count(iif(deliveries.state = 'parked', 1, NULL)) AS parked,
    count(iif(deliveries.state = 'expired', 1, NULL)) AS expired,
    count(iif(deliveries.state = 'retracted', 1, NULL)) AS retracted
  FROM ${listed} CROSS JOIN messages CROSS JOIN deliveries
  WHERE messages.account_id = :account AND messages.seq = listed.value AND messages.channel_id IS NOT NULL AND ${isAt}
  GROUP BY messages.seq`)

const selectNewest = `SELECT messages.seq, messages.created_at AS at, messages.channel_id, messages.from_agent_id
  FROM (
    SELECT account_id, seq FROM thread_messages WHERE account_id = :account AND thread_id = :thread
    ORDER BY seq DESC LIMIT :limit) AS place
  JOIN messages ON messages.seq = place.seq`
// A message of another account has one recipient in this account, so the join cannot duplicate it.
const newest = query<{ seq: number; at: number; channelId: string | null; fromAgentId: string }>(`
  ${selectNewest} AND messages.account_id = place.account_id
  UNION ALL
  ${selectNewest}
  JOIN deliveries ON deliveries.seq = messages.seq
    AND deliveries.account_id = place.account_id
  WHERE messages.account_id <> place.account_id`)

export const threadMessages = {
  reads: (account: AccountDb) => ({
    newest: (thread: number, limit: number) => account.all(newest, { thread, limit }),
    /** Messages with a position in the account, in log order, as a user sees them. `user` is null for programs. */
    bySeqs: (seqs: number[], user: string | null = null) => account.all(bySeqs, { seqs: JSON.stringify(seqs), user }),
    /** A thread's messages around `anchor`, none before `from`, with the messages of the thread that they answer. */
    around: (
      thread: number,
      { user, ...around }: { anchor: number; from: number; older: number; newer: number; user: string | null },
    ) => account.all(aroundAnchor, { thread, user, ...around }),
    /** The newest messages in some threads. */
    newestOf: (threads: number[], limit: number, user: string | null) =>
      account.all(newestOfThreads, { threads: JSON.stringify(threads), limit, user }),
    /** The number of a thread's first message since a time, or the number after its last one. Null if it is empty. */
    firstSince: async (thread: number, at: number): Promise<number | null> =>
      (await account.one(firstSince, { thread, at }))?.seq ?? null,
    /** A message's reply chain. */
    chain: (seq: number, limit: number, user: string | null) => account.all(chain, { seq, limit, user }),
    /** The messages with these ids. */
    byIds: (messages: string[], user: string | null = null) =>
      account.all(byIds, { messages: JSON.stringify(messages), user }),
    direct: (seqs: number[]) => account.all(direct, { seqs: JSON.stringify(seqs) }),
    posts: (seqs: number[]) => account.all(posts, { seqs: JSON.stringify(seqs) }),
    ofPost: (seq: number, after: string, limit: number) => account.all(ofPost, { seq, after, limit }),
  }),
  changes: () => ({}),
}

/** One recipient of a message. `isOwn` and `isLeased` are 0 or 1. */
export interface RecipientStatus {
  alias: string
  type: typeof agents.$inferSelect.type
  state: typeof deliveries.$inferSelect.state
  createdAt: number
  wokenAt: number | null
  readAt: number | null
  isOwn: number
  isLeased: number
  agentId: string
}

// Only timed leases count, because other leases end with the response. Other accounts' leases are not shown.
const statusOf = query<RecipientStatus>(`
  SELECT agents.id AS agent_id, agents.alias, agents.type, deliveries.state, deliveries.created_at, deliveries.woken_at, deliveries.read_at,
    deliveries.account_id = messages.account_id AS is_own,
    EXISTS (SELECT 1 FROM leases WHERE leases.account_id = :account AND leases.id = deliveries.lease_id
      AND leases.expires_at IS NOT NULL) AS is_leased
  FROM messages
  JOIN deliveries ON deliveries.seq = messages.seq
  JOIN agents ON agents.account_id = deliveries.account_id AND agents.id = ${agentOf()}
  WHERE messages.account_id = :account AND messages.id = :id
  ORDER BY deliveries.read_at, agents.alias`)

// Shows only recipients in the same account. Releases in other accounts are not shown.
const released = query<{ alias: string; leasedAt: number; releasedAt: number }>(`
  SELECT agents.alias, lease_releases.leased_at, lease_releases.released_at FROM messages
  JOIN lease_releases ON lease_releases.account_id = :account AND lease_releases.seq = messages.seq
  JOIN agents ON agents.account_id = :account AND agents.id = ${agentOf('lease_releases')}
  WHERE messages.account_id = :account AND messages.id = :id
  ORDER BY lease_releases.released_at DESC LIMIT :limit`)

// Shows only replies to the agent itself, not replies to other agents.
const replies = query<{ alias: string; createdAt: number }>(`
  SELECT messages.from_alias AS alias, messages.created_at FROM messages
  JOIN deliveries ON deliveries.seq = messages.seq
    AND deliveries.inbox = ${inboxOf()}
  WHERE messages.reply_to_message_id = :id AND messages.type <> 'system'
  ORDER BY deliveries.seq DESC LIMIT :limit`)

// Other members' posts in the channel are answers too, unless they reply to a different message.
const answers = query<{ id: string; alias: string; isUnread: number }>(`
  SELECT messages.id, messages.from_alias AS alias, deliveries.state = 'unread' AS is_unread
  FROM messages AS asked JOIN deliveries ON deliveries.inbox = ${inboxOf()} AND deliveries.seq > asked.seq
  JOIN messages ON messages.seq = deliveries.seq AND messages.type <> 'system'
    AND (messages.reply_to_message_id = asked.id
      OR (messages.reply_to_message_id IS NULL AND messages.channel_id = asked.channel_id))
  WHERE asked.account_id = :account AND asked.id = :id AND asked.from_agent_id = :agent
  ORDER BY deliveries.seq LIMIT :limit`)

export const messageStatus = {
  reads: (account: AccountDb) => ({
    of: (id: string) => account.all(statusOf, { id }),
    released: (id: string, limit: number) => account.all(released, { id, limit }),
    replies: (id: string, agent: string, limit: number) => account.all(replies, { id, agent, limit }),
    /** Answers to an agent's post, oldest first. */
    answers: (id: string, agent: string, limit: number) => account.all(answers, { id, agent, limit }),
  }),
  changes: () => ({}),
}
