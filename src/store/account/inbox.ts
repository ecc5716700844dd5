/** An agent's inbox: unread messages, and read messages that can be read again. `leases.ts` leases messages. */
import {
  countedUnread,
  type InboxMessage,
  inboxOf,
  isInTime,
  isOfMessage,
  maxCountedUnread,
  selectInboxMessages,
  unreadOf,
} from './inbox-message.ts'
import { endedLeaseDepth, givenTo, isLeased } from './leases.ts'
import { readTasks } from './task-changes.ts'
import { type AccountDb, query, type Statement, statement, traffic } from '../sql.ts'
import type { MessageType } from './new-message.ts'

// The states are literals, because a condition with a parameter cannot use the partial indexes.
const inInbox = `deliveries.inbox = ${inboxOf()}`
const unreadOnes = `${inInbox} AND deliveries.state = 'unread'`
const readOnes = `${inInbox} AND deliveries.state = 'read'`
const joinMessages = 'JOIN messages ON messages.seq = deliveries.seq'

const unread = query<{ unread: number | null }>(`SELECT ${countedUnread()} AS unread`)
const allUnread = query<{ unread: number | null }>(`SELECT ${unreadOf()} AS unread`)
const inTime = query<{ n: number }>(`
  SELECT count(*) AS n FROM (SELECT 1 FROM deliveries WHERE ${unreadOnes} AND ${isInTime} LIMIT ${maxCountedUnread})`)
const oldestUnread = query<{ fromAlias: string; at: number }>(`
  SELECT messages.from_alias, deliveries.created_at AS at FROM deliveries ${joinMessages}
  WHERE ${unreadOnes} ORDER BY deliveries.seq LIMIT 1`)
const newestUnread = query<{ seq: number | null }>(`
  SELECT max(deliveries.seq) AS seq FROM deliveries WHERE ${unreadOnes} AND NOT deliveries.quiet`)
const lastRead = query<{ seq: number | null }>(`SELECT max(deliveries.seq) AS seq FROM deliveries WHERE ${readOnes}`)

const ofLease = query<InboxMessage>(selectInboxMessages(isLeased))
// The messages of an ended lease have been read, so the search covers read messages.
const ofEndedLease = query<InboxMessage>(selectInboxMessages(`deliveries.seq IN (
  SELECT seq FROM (
    SELECT deliveries.seq, deliveries.lease_id FROM deliveries WHERE ${readOnes}
    ORDER BY deliveries.seq DESC LIMIT ${endedLeaseDepth})
  WHERE lease_id = :lease)`))
// An answer that is not a reply is found by its lease, among the read messages that follow the message.
const answerTo = query<InboxMessage>(
  `${
    selectInboxMessages(`deliveries.state = 'read' AND deliveries.seq IN (
      ${givenTo(':message')}
      UNION ALL
      SELECT reply.seq FROM messages AS reply JOIN deliveries AS replied ON replied.seq = reply.seq
      WHERE replied.inbox = ${inboxOf()} AND reply.reply_to_message_id = :message)`)
  } LIMIT 1`,
)

// Unread and read messages have separate indexes. One statement reads both, because two statements could miss a message
// that is leased or released between them.
const bothHalves = (half: (ones: string, after: string) => string) =>
  `SELECT * FROM (${half(`${unreadOnes} AND ${isInTime}`, ':afterUnread')}) UNION ALL SELECT * FROM (${
    half(readOnes, ':afterRead')
  })`
const after = (ones: string, after: string) => `
  SELECT deliveries.seq FROM deliveries
  WHERE ${ones} AND deliveries.seq > ${after} AND deliveries.created_at >= :from
  ORDER BY deliveries.seq LIMIT :limit`
const page = query<InboxMessage>(`${selectInboxMessages(`deliveries.seq IN (${bothHalves(after)})`)} LIMIT :limit`)
const before = (ones: string) => `
  SELECT deliveries.seq FROM deliveries WHERE ${ones} AND deliveries.seq < :before
  ORDER BY deliveries.seq DESC LIMIT :limit`
const newestPage = query<InboxMessage>(
  selectInboxMessages(`deliveries.seq IN (SELECT seq FROM (${bothHalves(before)}) ORDER BY seq DESC LIMIT :limit)`),
)
const byMessage = query<InboxMessage>(
  `${
    selectInboxMessages(`${isOfMessage('= :message')} AND (deliveries.state IN ('read', 'task')
      OR (deliveries.state = 'unread' AND ${isInTime}))`)
  } LIMIT 1`,
)
const nextUnread = query<InboxMessage>(`${selectInboxMessages(`${unreadOnes} AND ${isInTime}`)} LIMIT :limit`)
const newestBefore = (ones: string) =>
  query<{ seq: number }>(`
    SELECT deliveries.seq FROM deliveries WHERE ${ones} AND deliveries.created_at < :at
    ORDER BY deliveries.seq DESC LIMIT 1`)
const [unreadBefore, readBefore] = [newestBefore(unreadOnes), newestBefore(readOnes)]

// Messages are leased in order, so the newest read message was in the newest lease. But a released message may be
// leased again after later messages, and its lease is then newer. The lease ids (UUIDv7) alone would depend on the
// clocks of processes. Checking 1,000 messages may fetch as many pages, but the index shows that most inboxes have no
// redelivered message. `+` keeps the depth out of that index's bounds, so it is computed only if there is a row.
const lastLease = query<{ id: string | null }>(`
  SELECT max(lease_id) AS id FROM (
    SELECT * FROM (SELECT deliveries.lease_id FROM deliveries WHERE ${readOnes} ORDER BY deliveries.seq DESC LIMIT 1)
    UNION ALL
    SELECT * FROM (
      SELECT deliveries.lease_id FROM deliveries
      WHERE ${readOnes} AND deliveries.release_count > 0 AND +deliveries.seq >= coalesce((
        SELECT deliveries.seq FROM deliveries WHERE ${readOnes}
        ORDER BY deliveries.seq DESC LIMIT 1 OFFSET ${endedLeaseDepth - 1}), 0)
      ORDER BY deliveries.seq DESC LIMIT ${endedLeaseDepth}))`)

const messageId = '(SELECT messages.id FROM messages WHERE messages.seq = deliveries.seq) AS message_id'
const isListed = isOfMessage('IN (SELECT value FROM json_each(:messages))')
const markRead = traffic(`
  UPDATE deliveries SET state = 'read', read_at = :at
  WHERE ${isListed} AND deliveries.state = 'unread' RETURNING ${messageId}`)
// Removes the expiry, because a message that was read does not expire.
const markUnread = statement(`
  UPDATE deliveries SET state = 'unread', read_at = NULL, expires_at = NULL
  WHERE ${isListed} AND deliveries.state = 'read' RETURNING ${messageId}`)

interface ReceivedMessage {
  id: string
  recipient: string
  conversationId: string | null
  fromAlias: string
  /** Also `human` for a person's messages from an external service. */
  type: MessageType
  hops: number
  taskId: string | null
  traceparent: string | null
  isExternal: number
}

// Another account could report any number of hops, so its message counts as a single answer.
const received = query<ReceivedMessage>(`
  SELECT messages.id, messages.recipient, messages.conversation_id, messages.from_alias,
    iif(messages.via IS NOT NULL AND sender.type = 'human', 'human', messages.type) AS type,
    iif(messages.account_id = :account, messages.hops, min(messages.hops, 1 + coalesce((
      SELECT answered.hops FROM messages AS answered
      WHERE answered.account_id = :account AND answered.id = messages.reply_to_message_id), 0))) AS hops,
    deliveries.task_id, messages.traceparent, messages.account_id <> :account AS is_external
  FROM deliveries ${joinMessages}
  JOIN agents AS sender ON sender.account_id = messages.account_id AND sender.id = messages.from_agent_id
  WHERE ${isOfMessage()}`)

export const inbox = {
  reads: (account: AccountDb) => ({
    received: (agent: string, id: string) => account.one(received, { agent, id }),
    /** A message to the agent, as a read shows it at this time. Undefined if it is parked or has ended. */
    message: (agent: string, message: string, at: number) => account.one(byMessage, { agent, message, at }),
    unread: async (agent: string) => (await account.one(unread, { agent }))!.unread ?? 0,
    /** The number of all unread messages, as shown to people. */
    allUnread: async (agent: string) => (await account.one(allUnread, { agent }))!.unread ?? 0,
    /** The number of messages that a read could lease now; 100 means 100 or more. */
    inTime: async (agent: string, at: number) => (await account.one(inTime, { agent, at }))!.n,
    /** The sender and time of the oldest unread message. Undefined if there is none. */
    oldestUnread: (agent: string): Promise<{ fromAlias: string; at: number } | undefined> =>
      account.one(oldestUnread, { agent }),
    newestUnread: async (agent: string) => (await account.one(newestUnread, { agent }))?.seq ?? 0,
    lastRead: async (agent: string) => (await account.one(lastRead, { agent }))?.seq ?? 0,
    ofLease: (agent: string, lease: string) => account.all(ofLease, { agent, lease }),
    ofEndedLease: (agent: string, lease: string) => account.all(ofEndedLease, { agent, lease }),
    /** The first read answer to one of the agent's messages: a reply, or an answer that the agent's wait received. */
    answerTo: (agent: string, message: string) => account.one(answerTo, { agent, message }),
    lastLease: async (agent: string) => (await account.one(lastLease, { agent }))?.id ?? null,
    nextUnread: (agent: string, limit: number, at: number) => account.all(nextUnread, { agent, limit, at }),
    after: (agent: string, after: number, limit: number, at: number) =>
      account.all(page, { agent, afterUnread: after, afterRead: after, from: 0, limit, at }),
    /** The newest unread and read messages before this position, oldest first. */
    newest: (agent: string, before: number, limit: number, at: number) =>
      account.all(newestPage, { agent, before, limit, at }),
    /**
     * Unread and read messages that were stored at `from` or later, oldest first. Positions are in commit order, but
     * times depend on clocks. So the search begins after the newest message stored before `searchFrom`, which is
     * earlier than `from` by the largest clock skew.
     */
    async storedSince(agent: string, from: number, searchFrom: number, limit: number, at: number) {
      const afterUnread = (await account.one(unreadBefore, { agent, at: searchFrom }))?.seq ?? 0
      const afterRead = (await account.one(readBefore, { agent, at: searchFrom }))?.seq ?? 0
      return await account.all(page, { agent, afterUnread, afterRead, from, limit, at })
    },
  }),
  changes: (account: AccountDb) => ({
    /** Marks unread messages as read, without a lease. The first statement returns the column `message_id` of each. */
    markRead: (agent: string, messages: readonly string[], at: number): Statement[] => {
      const values = { agent, messages: JSON.stringify(messages), at }
      return [
        { ...account.bind(markRead, values), rows: messages.length },
        ...readTasks.map((statement) => account.bind(statement, values)),
      ]
    },
    /** Marks read messages as unread. Returns the column `message_id` of each. */
    markUnread: (agent: string, messages: readonly string[]): Statement => ({
      ...account.bind(markUnread, { agent, messages: JSON.stringify(messages) }),
      rows: messages.length,
    }),
  }),
}
