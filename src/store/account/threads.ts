/**
 * The threads of the account and the messages in them, for its people. A message of another account is reached through
 * its delivery, and shown as it was delivered. See docs/architecture.md, "Projections".
 */
import { and, desc, eq, gt, gte, lt, type SQL, sql } from 'drizzle-orm'
import {
  agentNumbers,
  agents,
  channelMembers,
  channels,
  deliveries,
  messages,
  seats,
  snoozes,
  threadAgents,
  threadMessages,
  threads,
  threadSeen,
} from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account-old.ts'
import { ofMessage } from './thread-messages.ts'

/** How many characters of a message a list shows. */
const previewLength = 200
/** How many unread messages of a seat are looked at. */
const maxUnread = 1_000

/** A thread as it is stored. `agents` is JSON of its first agents of this account, `preview` of its newest message. */
export interface StoredThread {
  id: number
  kind: 'channel' | 'conversation' | 'pair'
  key: string
  lastSeq: number
  lastAt: number
  messages: number
  channel: string | null
  /** Of the channel. */
  deletedAt: number | null
  agents: string
  preview: string | null
  seenSeq: number
}

/** Which threads a list has. Undefined for no such condition. */
export interface ThreadSelection {
  agentId?: string
  isWaiting?: boolean
}

export function prepareThreads(db: Db) {
  const account = p('account')
  const previewOf = (body: SQL) =>
    sql`json_object('fromAlias', m.from_alias, 'fromAgentId', m.from_agent_id, 'type', m.type,
      'recipient', m.recipient, 'text', substr(${body}, 1, ${previewLength}))`
  const firstAgents =
    sql`(SELECT json_group_array(json_object('id', one.id, 'alias', one.alias, 'isDeleted', one.is_deleted)) FROM (
    SELECT ${agents.id} AS id, ${agents.alias} AS alias, ${agents.deletedAt} IS NOT NULL AS is_deleted FROM ${threadAgents}
      JOIN ${agents} ON ${agents.accountId} = ${threadAgents.accountId} AND ${agents.id} = ${threadAgents.agentId}
      WHERE ${threadAgents.accountId} = ${account} AND ${threadAgents.threadId} = ${threads.id} LIMIT 3) AS one)`
  const fields = {
    id: threads.id,
    kind: threads.kind,
    key: threads.key,
    lastSeq: threads.lastSeq,
    lastAt: threads.lastAt,
    messages: threads.messages,
    channel: sql<string | null>`${channels.name}`.as('channel'),
    deletedAt: sql<number | null>`${channels.deletedAt}`.as('deleted_at'),
    agents: sql<string>`${firstAgents}`.as('agents'),
    preview: sql<string | null>`${
      ofMessage(sql`${threads.lastSeq}`, previewOf(sql`m.body`), previewOf(sql`coalesce(d.body, m.body)`))
    }`.as('preview'),
    seenSeq: sql<number>`coalesce((SELECT ${threadSeen.seq} FROM ${threadSeen} WHERE ${
      inAccount(threadSeen, eq(threadSeen.userId, p('user')), eq(threadSeen.threadId, threads.id))
    }), 0)`.as('seen_seq'),
  }
  const channelOfThread = and(
    eq(channels.accountId, threads.accountId),
    eq(channels.id, threads.key),
    eq(threads.kind, sql`'channel'`),
  )
  const isListed = inAccount(
    threads,
    gt(threads.lastSeq, 0),
    lt(threads.lastSeq, p('before')),
    gte(threads.lastAt, p('since')),
    sql`${p('isChannel')} = 0 OR ${threads.kind} = 'channel'`,
  )
  // What is shown of a thread is looked up for the threads of the page alone.
  const list = (chosen?: SQL) => {
    const found = chosen
      ? db.select({ id: threads.id }).from(sql`(${chosen}) AS chosen`).crossJoin(threads)
        .where(and(isListed, sql`${threads.id} = chosen.thread_id`))
      : db.select({ id: threads.id }).from(threads).where(isListed)
    const page = found.orderBy(desc(threads.lastSeq)).limit(p('limit')).as('page')
    return db.select(fields).from(page).crossJoin(threads).leftJoin(channels, channelOfThread)
      .where(inAccount(threads, eq(threads.id, page.id))).orderBy(desc(threads.lastSeq)).prepare()
  }

  const ofChannels = (agent: SQL) =>
    sql`SELECT ${threads.id} AS thread_id FROM ${channelMembers}
      JOIN ${threads} ON ${threads.accountId} = ${channelMembers.accountId} AND ${threads.kind} = 'channel'
        AND ${threads.key} = ${channelMembers.channelId}
      WHERE ${channelMembers.accountId} = ${account} AND ${channelMembers.agentId} = ${agent}`
  const ofAgent = (agent: SQL) =>
    sql`SELECT ${threadAgents.threadId} AS thread_id FROM ${threadAgents}
      WHERE ${threadAgents.accountId} = ${account} AND ${threadAgents.agentId} = ${agent}
      UNION ${ofChannels(agent)}`
  // An inbox is read in its order. So a thread waits for an agent if the newest delivery to the agent in it does, and
  // that one is not older than the oldest that is unread.
  const waiting = (condition: SQL) =>
    sql`WITH every AS MATERIALIZED (SELECT ${agentNumbers.agentId} AS agent_id,
        (SELECT min(${deliveries.seq}) FROM ${deliveries}
          WHERE ${deliveries.inbox} = ${agentNumbers.n} AND ${deliveries.state} = 'unread') AS oldest
      FROM ${agentNumbers} WHERE ${agentNumbers.accountId} = ${account} AND ${condition}),
    inbox AS MATERIALIZED (SELECT * FROM every WHERE oldest IS NOT NULL)
    SELECT ${threadAgents.threadId} AS thread_id FROM inbox
      CROSS JOIN ${threadAgents} ON ${threadAgents.agentId} = inbox.agent_id
      CROSS JOIN ${deliveries} ON ${deliveries.seq} = ${threadAgents.deliverySeq}
      WHERE ${threadAgents.accountId} = ${account} AND ${deliveries.accountId} = ${account}
        AND ${threadAgents.deliverySeq} >= inbox.oldest AND ${deliveries.state} = 'unread'
    UNION SELECT ${threads.id} FROM inbox
      CROSS JOIN ${channelMembers} ON ${channelMembers.agentId} = inbox.agent_id
      CROSS JOIN ${threads} ON ${threads.accountId} = ${channelMembers.accountId} AND ${threads.kind} = 'channel'
        AND ${threads.key} = ${channelMembers.channelId}
      CROSS JOIN ${messages} ON ${messages.accountId} = ${threads.accountId} AND ${messages.seq} = ${threads.lastSeq}
      CROSS JOIN ${deliveries} ON ${deliveries.messageId} = ${messages.id}
        AND ${deliveries.senderAccountId} = ${messages.accountId} AND ${deliveries.accountId} = ${messages.accountId}
        AND ${deliveries.agentId} = inbox.agent_id
      WHERE ${channelMembers.accountId} = ${account} AND ${deliveries.state} = 'unread'`
  const agent = sql`${p('agent')}`
  const lists = {
    all: list(),
    ofAgent: list(ofAgent(agent)),
    waiting: list(waiting(sql`1`)),
    waitingForAgent: list(waiting(sql`${agentNumbers.agentId} = ${agent}`)),
  }
  const byId = db.select(fields).from(threads).leftJoin(channels, channelOfThread)
    .where(inAccount(threads, eq(threads.id, p('thread')))).prepare()
  const ofChannel = db.select({ id: threads.id }).from(threads)
    .where(inAccount(threads, eq(threads.kind, sql`'channel'`), eq(threads.key, p('channel')))).prepare()
  const agentIn = db.select({ one: sql<number>`1` }).from(sql`(${ofAgent(agent)}) AS part`)
    .where(sql`part.thread_id = ${p('thread')}`).limit(1).prepare()

  // The unread messages of the seat of a user, oldest first, each with its thread.
  const seat = sql`SELECT ${seats.agentId} FROM ${seats} WHERE ${seats.accountId} = ${account}
    AND ${seats.userId} = ${p('user')}`
  const unreadOldest = (inbox: SQL) =>
    sql`(SELECT seq, message_id, sender_account_id FROM ${deliveries} WHERE ${deliveries.inbox} = (${inbox})
      AND ${deliveries.accountId} = ${account} AND ${deliveries.state} = 'unread'
      ORDER BY ${deliveries.seq} LIMIT ${maxUnread}) AS waits`
  const isUnreadPlace = and(
    sql`${messages.accountId} = waits.sender_account_id AND ${messages.id} = waits.message_id`,
    inAccount(threadMessages, eq(threadMessages.seq, messages.seq)),
  )
  const unreadOf = (inbox: SQL) =>
    db.select({
      threadId: threadMessages.threadId,
      unread: sql<number>`count(*)`.as('unread'),
      firstSeq: sql<number>`min(${threadMessages.seq})`.as('first_seq'),
    }).from(unreadOldest(inbox)).crossJoin(messages).crossJoin(threadMessages).where(isUnreadPlace)
      .groupBy(threadMessages.threadId).prepare()
  const unreadInThread = db.select({ id: messages.id, seq: threadMessages.seq }).from(
    unreadOldest(inboxOf(account, agent)),
  )
    .crossJoin(messages).crossJoin(threadMessages).where(and(isUnreadPlace, eq(threadMessages.threadId, p('thread'))))
    .orderBy(threadMessages.seq).prepare()
  const unreadOfSeat = unreadOf(inboxOf(account, sql`(${seat})`))
  const unreadOfAgent = unreadOf(inboxOf(account, agent))

  const add = db.insert(threadSeen).select(
    db.select({
      accountId: threads.accountId,
      userId: value('user'),
      threadId: threads.id,
      seq: value<number>('seq'),
    }).from(threads).where(inAccount(threads, eq(threads.id, p('thread')))),
  ).onConflictDoUpdate({
    target: [threadSeen.accountId, threadSeen.userId, threadSeen.threadId],
    set: { seq: sql`excluded.seq` },
  }).toSQL()

  const ofUser = [threadSeen, snoozes].map((table) =>
    db.delete(table).where(inAccount(table, eq(table.userId, p('user')))).toSQL()
  )

  return {
    reads: (account: AccountBinding) => ({
      /** Threads with a message before `before` and since a time, the newest first. */
      list: (
        { agentId, isWaiting }: ThreadSelection,
        { user, before, since, isChannel, limit }: {
          user: string
          before: number
          since: number
          isChannel: boolean
          limit: number
        },
      ): Promise<StoredThread[]> => {
        const values = { user, before, since, isChannel: isChannel ? 1 : 0, limit }
        if (agentId === undefined) return account.all(isWaiting ? lists.waiting : lists.all, values)
        return account.all(isWaiting ? lists.waitingForAgent : lists.ofAgent, { ...values, agent: agentId })
      },
      byId: (thread: number, user: string): Promise<StoredThread | undefined> => account.one(byId, { thread, user }),
      /** The id of the thread of a channel, by the id of the channel; undefined before its first message. */
      ofChannel: async (channel: string): Promise<number | undefined> =>
        (await account.one(ofChannel, { channel }))?.id,
      /** Whether an agent takes part in a thread. */
      hasAgent: async (thread: number, agent: string) => (await account.one(agentIn, { thread, agent })) !== undefined,
      /** The threads with unread messages of the seat of a user, or of an agent: how many, and the first. At most 1,000. */
      unreadOfSeat: (user: string) => account.all(unreadOfSeat, { user }),
      unreadOfAgent: (agent: string) => account.all(unreadOfAgent, { agent }),
      /** Those of the 1,000 oldest unread messages of an agent that are in a thread, oldest first. */
      unreadInThread: (thread: number, agent: string) => account.all(unreadInThread, { thread, agent }),
    }),
    changes: (account: AccountBinding) => ({
      /** Record up to which message a user has looked at a thread. Does nothing if the account has no such thread. */
      setSeen: (user: string, thread: number, seq: number): Statement => account.bind(add, { user, thread, seq }),
      /** Forget what a user who leaves the account has looked at, and put off. */
      forgetUser: (user: string): Statement[] => ofUser.map((statement) => account.bind(statement, { user })),
    }),
  }
}
