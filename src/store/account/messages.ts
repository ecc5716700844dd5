/** What agents of the account sent: the message, one delivery per recipient, and the counts that go with them. */
import { and, eq, exists, gt, isNull, lte, ne, notExists, or, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import {
  accounts,
  agentAccess,
  agents,
  channelMembers,
  channels,
  deliveries,
  idempotencyKeys,
  messages,
  trials,
} from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope, value } from '../driver/binding.ts'

/** The mailbox of a direct message: an agent of the own account, or at `home` a public one of another. */
export interface Mailbox {
  id: string
  home?: string
}

/** A message about to be stored. `a2a` is JSON text or null; `at` is milliseconds since the epoch. */
export interface NewMessage {
  id: string
  from: string
  type: 'agent' | 'human' | 'system'
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  body: string
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  flagged: boolean
  /** The idempotency key of the send, or null. */
  key: string | null
  at: number
}

export function prepareMessages(db: Db) {
  const sender = alias(agents, 'sender')
  const recipient = alias(agents, 'recipient')
  const one = { one: sql`1` }

  const trialOpen = notExists(
    db.select(one).from(trials).where(
      own(
        trials,
        eq(trials.agentId, p('from')),
        or(sql`${trials.used} >= ${trials.max}`, sql`${trials.expiresAt} <= ${p('at')}`),
      ),
    ),
  )
  const keyUnused = notExists(
    db.select(one).from(idempotencyKeys)
      .where(own(idempotencyKeys, eq(idempotencyKeys.agentId, p('from')), eq(idempotencyKeys.key, p('key')))),
  )
  const claimed = (id: unknown) =>
    sql`EXISTS (SELECT 1 FROM ${accounts} WHERE ${accounts.id} = ${id} AND ${accounts.state} = 'claimed')`
  const listed = exists(
    db.select(one).from(agentAccess).where(
      and(
        eq(agentAccess.accountId, recipient.accountId),
        eq(agentAccess.agentId, recipient.id),
        eq(agentAccess.alias, sender.alias),
      ),
    ),
  )
  const recipientAccepts = exists(
    db.select(one).from(recipient).where(and(
      eq(recipient.accountId, p('toAccount')),
      eq(recipient.id, p('to')),
      isNull(recipient.deletedAt),
      or(
        eq(recipient.accountId, p('account')),
        and(
          eq(recipient.visibility, sql`'public'`),
          claimed(p('account')),
          claimed(p('toAccount')),
          sql`CASE ${recipient.accessPolicy} WHEN 'auto_approve' THEN 1 WHEN 'allow_list' THEN ${listed} ELSE NOT ${listed} END`,
        ),
      ),
    )),
  )
  const senderIsMember = exists(
    db.select(one).from(channelMembers)
      .innerJoin(
        channels,
        and(eq(channels.accountId, channelMembers.accountId), eq(channels.id, channelMembers.channelId)),
      )
      .where(
        own(
          channelMembers,
          eq(channelMembers.channelId, p('channel')),
          eq(channelMembers.agentId, p('from')),
          isNull(channels.deletedAt),
        ),
      ),
  )

  /** The message row, if everything still holds at this moment: the other statements lean on it. */
  const add = (channel: typeof messages.channelId | null, condition: typeof recipientAccepts) =>
    db.insert(messages).select(
      db.select({
        accountId: sender.accountId,
        id: value('id'),
        fromAgentId: sender.id,
        fromAlias: sender.alias,
        type: value<NewMessage['type']>('type'),
        recipient: value('recipient'),
        channelId: channel ? value('channel') : sql<string>`NULL`.as('channel_id'),
        body: value('body'),
        replyToMessageId: value<string | null>('replyToMessageId'),
        conversationId: value<string | null>('conversationId'),
        a2a: value<string | null>('a2a'),
        flagged: value<boolean>('flagged'),
        createdAt: value<number>('at'),
      }).from(sender)
        .where(own(sender, eq(sender.id, p('from')), isNull(sender.deletedAt), trialOpen, keyUnused, condition)),
    ).onConflictDoNothing().toSQL()
  const addDirect = add(null, recipientAccepts)
  const addPost = add(messages.channelId, senderIsMember)

  // Only what the insert directly before counted: a repeated or refused send counts nothing.
  const countTrial = db.update(trials).set({ used: sql`${trials.used} + 1` })
    .where(own(trials, eq(trials.agentId, p('from')), sql`changes() = 1`)).toSQL()

  const unreadDelivery = {
    senderAccountId: value('account'),
    messageId: value('id'),
    state: sql<'unread'>`'unread'`.as('state'),
    chars: value<number>('chars'),
    createdAt: value<number>('at'),
    readAt: sql<null>`NULL`.as('read_at'),
    batchId: sql<null>`NULL`.as('batch_id'),
    returned: sql<number>`0`.as('returned'),
    wokenAt: sql<null>`NULL`.as('woken_at'),
  }
  const seq = sql<number>`NULL`.as('seq')
  const stored = own(messages, eq(messages.id, p('id')))
  const deliver = db.insert(deliveries).select(
    db.select({ seq, accountId: value('toAccount'), agentId: value('to'), ...unreadDelivery }).from(messages)
      .where(stored),
  ).onConflictDoNothing().toSQL()
  const fanOut = db.insert(deliveries).select(
    db.select({ seq, accountId: channelMembers.accountId, agentId: channelMembers.agentId, ...unreadDelivery })
      .from(channelMembers)
      .innerJoin(agents, and(eq(agents.accountId, channelMembers.accountId), eq(agents.id, channelMembers.agentId)))
      .where(
        own(
          channelMembers,
          eq(channelMembers.channelId, p('channel')),
          ne(channelMembers.agentId, p('from')),
          isNull(agents.deletedAt),
          exists(db.select(one).from(messages).where(stored)),
        ),
      ),
  ).onConflictDoNothing().returning({ agentId: deliveries.agentId }).toSQL()

  const addKey = db.insert(idempotencyKeys).select(
    db.select({
      accountId: messages.accountId,
      agentId: value('from'),
      key: value('key'),
      requestHash: value('requestHash'),
      messageId: messages.id,
      createdAt: value<number>('at'),
      answer: sql<null>`NULL`.as('answer'),
    }).from(messages).where(stored),
  ).onConflictDoNothing().toSQL()

  const sentFields = {
    id: messages.id,
    recipient: messages.recipient,
    conversationId: messages.conversationId,
    createdAt: messages.createdAt,
  }
  const sent = db.select(sentFields).from(messages)
    .where(own(messages, eq(messages.id, p('id')), eq(messages.fromAgentId, p('from')))).prepare()
  const byKey = db.select({
    ...sentFields,
    requestHash: idempotencyKeys.requestHash,
    answer: idempotencyKeys.answer,
  }).from(idempotencyKeys)
    .innerJoin(
      messages,
      and(eq(messages.accountId, idempotencyKeys.accountId), eq(messages.id, idempotencyKeys.messageId)),
    )
    .where(
      own(
        idempotencyKeys,
        eq(idempotencyKeys.agentId, p('from')),
        eq(idempotencyKeys.key, p('key')),
        gt(idempotencyKeys.createdAt, p('since')),
      ),
    ).prepare()
  const forgetKey = db.delete(idempotencyKeys).where(
    own(
      idempotencyKeys,
      eq(idempotencyKeys.agentId, p('from')),
      eq(idempotencyKeys.key, p('key')),
      lte(idempotencyKeys.createdAt, p('until')),
    ),
  ).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** A message that the agent itself sent. */
      sent: (id: string, from: string) => scope.one(sent, { id, from }),
      /** The send that an agent already made with this idempotency key, not older than `since`. */
      byKey: (from: string, key: string, since: number) => scope.one(byKey, { from, key, since }),
    }),
    changes: (scope: Scope) => ({
      /** A message to one agent; not stored where a condition does not hold. */
      addDirect: (message: NewMessage, to: Mailbox) =>
        scope.bind(addDirect, { ...message, toAccount: to.home ?? scope.accountId, to: to.id }),
      /** A post to a channel the sender is in. */
      addPost: (message: NewMessage, channel: string) => scope.bind(addPost, { ...message, channel }),
      /** Must stand directly behind the insert it counts. */
      countTrial: (from: string) => scope.bind(countTrial, { from }),
      deliver: (message: NewMessage, to: Mailbox, chars: number) =>
        scope.bind(deliver, {
          id: message.id,
          at: message.at,
          toAccount: to.home ?? scope.accountId,
          to: to.id,
          chars,
        }),
      /** One delivery for each other live member; they come back as `agent_id`. `members` only sizes the group of the write queue. */
      fanOut: (message: NewMessage, channel: string, chars: number, members: number) => ({
        ...scope.bind(fanOut, { id: message.id, at: message.at, from: message.from, channel, chars }),
        rows: members,
      }),
      addKey: (message: NewMessage & { key: string }, requestHash: string) =>
        scope.bind(addKey, { id: message.id, from: message.from, key: message.key, requestHash, at: message.at }),
      /** Frees a key that `byKey` no longer finds since the same time. */
      forgetKey: (from: string, key: string, until: number) => scope.bind(forgetKey, { from, key, until }),
    }),
  }
}
