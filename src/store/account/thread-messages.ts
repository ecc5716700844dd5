/** Messages in the threads of the account, what became of them, and chains. See docs/architecture.md, "Projections". */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/sqlite-core'
import { agents, deliveries, leases, messages, threadMessages } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'

/** A message of a thread as it is stored; flags are 0 or 1. `a2a` is JSON text, which may be damaged. */
export type PlacedMessage = Awaited<
  ReturnType<ReturnType<ReturnType<typeof prepareThreadMessages>['reads']>['bySeqs']>
>[number]

/**
 * What `own` says of a message `m` of the account by its number, or `delivered` of a message `m` of another account that
 * was delivered to it as `d`.
 */
export function ofMessage(seq: SQL, own: SQL, delivered = own): SQL {
  const account = p('account')
  return sql`coalesce(
    (SELECT ${own} FROM ${messages} AS m WHERE m.account_id = ${account} AND m.seq = ${seq}),
    (SELECT ${delivered} FROM ${messages} AS m
      JOIN ${deliveries} AS d ON d.sender_account_id = m.account_id AND d.message_id = m.id
      WHERE d.account_id = ${account} AND m.seq = ${seq} LIMIT 1))`
}

export function prepareThreadMessages(db: Db) {
  const account = p('account')
  // The joins are crossed, so that each begins with these few numbers.
  const listed = sql`json_each(${p('seqs')}) AS listed`
  const fields = (body: SQL, a2a: SQL, flagged: SQL, isForeign: number) => ({
    seq: threadMessages.seq,
    threadId: threadMessages.threadId,
    rootSeq: threadMessages.rootSeq,
    id: messages.id,
    fromAgentId: messages.fromAgentId,
    fromAlias: messages.fromAlias,
    isForeign: sql<number>`${isForeign}`.as('is_foreign'),
    type: messages.type,
    recipient: messages.recipient,
    body: sql<string>`${body}`.as('shown_body'),
    a2a: sql<string | null>`${a2a}`.as('shown_a2a'),
    conversationId: messages.conversationId,
    replyToMessageId: messages.replyToMessageId,
    flagged: sql<number>`${flagged}`.as('is_flagged'),
    sanitized: sql<number>`${messages.sanitized}`.as('is_sanitized'),
    hops: messages.hops,
    createdAt: messages.createdAt,
  })
  const isPlaced = inAccount(threadMessages, sql`${threadMessages.seq} = listed.value`)
  const isDelivered = and(
    eq(deliveries.messageId, messages.id),
    eq(deliveries.senderAccountId, messages.accountId),
    eq(deliveries.accountId, threadMessages.accountId),
  )
  const own = db.select(fields(sql`${messages.body}`, sql`${messages.a2a}`, sql`${messages.flagged}`, 0))
    .from(listed).crossJoin(threadMessages).crossJoin(messages)
    .where(and(isPlaced, eq(messages.accountId, threadMessages.accountId), eq(messages.seq, threadMessages.seq)))
  // In another account only one agent of ours can be the recipient: a channel has the agents of one account.
  const delivered = db.select(fields(
    sql`coalesce(${deliveries.body}, ${messages.body})`,
    sql`coalesce(${deliveries.a2a}, ${messages.a2a})`,
    sql`${messages.flagged} OR ${deliveries.flagged}`,
    1,
  )).from(listed).crossJoin(threadMessages).crossJoin(messages).crossJoin(deliveries)
    .where(and(
      isPlaced,
      eq(messages.seq, threadMessages.seq),
      sql`${messages.accountId} <> ${threadMessages.accountId}`,
      isDelivered,
    ))
  const bySeqs = unionAll(own, delivered).orderBy(sql`1`).prepare()

  const half = (isHalf: SQL, order: SQL, limit: string) =>
    db.select().from(
      db.select({ seq: threadMessages.seq }).from(threadMessages)
        .where(inAccount(
          threadMessages,
          eq(threadMessages.threadId, p('thread')),
          sql`${threadMessages.seq} >= ${p('from')}`,
          isHalf,
        )).orderBy(order).limit(p(limit)).as(`half_${limit}`),
    )
  const around = unionAll(
    half(sql`${threadMessages.seq} < ${p('anchor')}`, sql`${threadMessages.seq} DESC`, 'older'),
    half(sql`${threadMessages.seq} >= ${p('anchor')}`, sql`${threadMessages.seq}`, 'newer'),
  ).prepare()

  // Messages are stored in the order of their times, apart from clocks that differ. So the first since a time is found
  // by steps of half the length: 33 of them in a thread of any length.
  const ofThread = sql`${threadMessages.accountId} = ${account} AND ${threadMessages.threadId} = ${p('thread')}`
  const newestUpTo = (seq: SQL) => sql`(SELECT max(seq) FROM ${threadMessages} WHERE ${ofThread} AND seq <= ${seq})`
  const firstSince = db.select({ seq: sql<number | null>`min(up_to) + 1`.as('found') }).from(
    sql`(WITH RECURSIVE search(up_to, step) AS (
    SELECT min(seq) - 1, 1 << 32 FROM ${threadMessages} WHERE ${ofThread}
    UNION ALL
    SELECT up_to + iif(${ofMessage(newestUpTo(sql`up_to + step`), sql`m.created_at`)} < ${p('at')}, step, 0), step / 2
    FROM search WHERE step > 0
  ) SELECT up_to FROM search WHERE step = 0) AS found`,
  ).limit(1).prepare()

  const chain = db.select({ seq: threadMessages.seq }).from(threadMessages)
    .where(inAccount(
      threadMessages,
      eq(threadMessages.rootSeq, p('root')),
      // As the index says it.
      sql`${threadMessages.rootSeq} <> ${threadMessages.seq}`,
      // With `+`, because the planner would rather walk through all messages in their order.
    )).orderBy(sql`+${threadMessages.seq}`).limit(p('limit')).prepare()
  const isNamed = (id: typeof messages.id | typeof deliveries.messageId) =>
    sql`${id} IN (SELECT value FROM json_each(${p('messages')}))`
  const ofOwn = db.select({ seq: messages.seq }).from(messages).where(inAccount(messages, isNamed(messages.id)))
  const ofDelivered = db.select({ seq: messages.seq }).from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .where(inAccount(deliveries, isNamed(deliveries.messageId)))
  const seqsOf = unionAll(ofOwn, ofDelivered).prepare()

  // What happens in an inbox of another account is not shown, only whether and when its agent read and replied.
  const isOurs = sql`${deliveries.accountId} = ${account}`
  const ours = <T>(column: SQL) => sql<T>`iif(${isOurs}, ${column}, NULL)`
  // With `+`, because the planner would rather walk through all messages of the account in the order of their times.
  const replied = sql`(SELECT min(reply.created_at) FROM ${messages} AS reply
    CROSS JOIN ${threadMessages} AS place ON place.account_id = ${account} AND place.seq = reply.seq
    WHERE reply.reply_to_message_id = ${messages.id} AND +reply.account_id = ${deliveries.accountId}
      AND reply.from_agent_id = ${deliveries.agentId})`
  const isLeased = sql`EXISTS (SELECT 1 FROM ${leases} AS lease
    WHERE lease.account_id = ${deliveries.accountId} AND lease.id = ${deliveries.leaseId})`
  const isAt = and(eq(deliveries.senderAccountId, messages.accountId), eq(deliveries.messageId, messages.id))
  const state = sql<'unread' | 'leased' | 'read' | 'parked' | 'withdrawn'>`CASE
    WHEN ${deliveries.state} IN ('unread', 'withdrawn') THEN ${deliveries.state}
    WHEN ${isOurs} AND ${deliveries.state} = 'parked' THEN 'parked' WHEN ${isOurs} AND ${isLeased} THEN 'leased'
    WHEN ${deliveries.state} = 'parked' THEN 'unread' ELSE 'read' END`
  const receiptFields = {
    seq: messages.seq,
    agentId: deliveries.agentId,
    alias: ours<string | null>(sql`${agents.alias}`).as('recipient_alias'),
    state: state.as('shown_state'),
    storedAt: deliveries.createdAt,
    wokenAt: ours<number | null>(sql`${deliveries.wokenAt}`).as('shown_woken_at'),
    readAt: sql<number | null>`iif(${isOurs} OR ${deliveries.state} = 'read', ${deliveries.readAt}, NULL)`.as(
      'shown_read_at',
    ),
    releaseCount: sql<number>`iif(${isOurs}, ${deliveries.releaseCount}, 0)`.as('shown_release_count'),
    repliedAt: sql<number | null>`${replied}`.as('replied_at'),
  }
  const isRecipient = and(eq(agents.accountId, deliveries.accountId), eq(agents.id, deliveries.agentId))
  const isListed = sql`${messages.seq} = listed.value`
  const receipts = () =>
    db.select(receiptFields).from(listed).crossJoin(messages).crossJoin(deliveries).crossJoin(agents)
  const ofSent = receipts().where(and(
    inAccount(messages, isListed, sql`${messages.channelId} IS NULL`),
    isAt,
    isRecipient,
  ))
  const ofReceived = receipts().where(and(
    isListed,
    sql`${messages.accountId} <> ${account}`,
    isAt,
    eq(deliveries.accountId, account),
    isRecipient,
  ))
  const direct = unionAll(ofSent, ofReceived).prepare()
  const ofPost = db.select(receiptFields).from(messages).innerJoin(deliveries, isAt).innerJoin(agents, isRecipient)
    .where(inAccount(
      messages,
      eq(messages.seq, p('seq')),
      sql`${messages.channelId} IS NOT NULL`,
      sql`${deliveries.agentId} > ${p('after')}`,
    )).orderBy(deliveries.agentId).limit(p('limit')).prepare()
  const posts = db.select({
    seq: messages.seq,
    recipients: sql<number>`count(*)`,
    unread: sql<number>`count(iif(${deliveries.state} = 'unread', 1, NULL))`,
    parked: sql<number>`count(iif(${deliveries.state} = 'parked', 1, NULL))`,
  }).from(listed).crossJoin(messages).crossJoin(deliveries)
    .where(and(inAccount(messages, isListed, sql`${messages.channelId} IS NOT NULL`), isAt)).groupBy(messages.seq)
    .prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** Messages that have a place in the account, in the order of the log. */
      bySeqs: (seqs: number[]) => account.all(bySeqs, { seqs: JSON.stringify(seqs) }),
      /**
       * The numbers of `older` messages of a thread before `anchor` and `newer` ones from it on, none before `from`, in
       * no order.
       */
      around: async (thread: number, anchor: number, from: number, older: number, newer: number): Promise<number[]> =>
        (await account.all(around, { thread, anchor, from, older, newer })).map(({ seq }) => seq),
      /** The number of the first message of a thread since a time, or one behind the last; null for an empty thread. */
      firstSince: async (thread: number, at: number): Promise<number | null> =>
        (await account.one(firstSince, { thread, at }))?.seq ?? null,
      /** The numbers of the messages of a chain, without its root. */
      chain: async (root: number, limit: number): Promise<number[]> =>
        (await account.all(chain, { root, limit })).map(({ seq }) => seq),
      /** The numbers of messages by their ids, placed or not, in no order. */
      seqsOf: async (messages: string[]): Promise<number[]> =>
        (await account.all(seqsOf, { messages: JSON.stringify(messages) })).map(({ seq }) => seq),
      /** What became of direct messages that the account sent or received. */
      direct: (seqs: number[]) => account.all(direct, { seqs: JSON.stringify(seqs) }),
      /** How many recipients have read posts. */
      posts: (seqs: number[]) => account.all(posts, { seqs: JSON.stringify(seqs) }),
      /** What became of one post, by the ids of its recipients. */
      ofPost: (seq: number, after: string, limit: number) => account.all(ofPost, { seq, after, limit }),
    }),
    changes: () => ({}),
  }
}
