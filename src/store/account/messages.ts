/** Messages that agents of the account send: the statements of a send, and looking up what was sent. */
import { and, eq, exists, gt, isNotNull, isNull, lte, notExists, or, type SQL, sql } from 'drizzle-orm'
import { alias, unionAll } from 'drizzle-orm/sqlite-core'
import {
  agents,
  blockedSends,
  channelMembers,
  channels,
  deliveries,
  idempotencyKeys,
  messages,
  trials,
} from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account.ts'
import { acceptsMessagesOf } from './access.ts'
import {
  type InboxAddress,
  lengthOf,
  type MessageType,
  newDelivery,
  type NewMessage,
  subjectOf,
} from './new-message.ts'
import { mayTakeTurn, type Turn } from './turns.ts'
import { hasRoom, isWithinDay, type Quotas } from './usage.ts'

/** What the statement that stores a message checks. */
export type SendConditions = Quotas & Turn

export function prepareMessages(db: Db) {
  const sender = alias(agents, 'sender')
  const recipient = alias(agents, 'recipient')
  const one = { one: sql`1` }

  const trialIsOpen = notExists(
    db.select(one).from(trials).where(
      inAccount(
        trials,
        eq(trials.agentId, p('from')),
        or(
          sql`${trials.used} >= ${trials.max}`,
          sql`${trials.expiresAt} <= ${p('at')}`,
          isNotNull(trials.endedAt),
        ),
      ),
    ),
  )
  const keyIsUnused = notExists(
    db.select(one).from(idempotencyKeys).where(
      inAccount(
        idempotencyKeys,
        eq(idempotencyKeys.agentId, p('from')),
        eq(idempotencyKeys.key, p('key')),
        gt(idempotencyKeys.createdAt, p('keysSince')),
      ),
    ),
  )
  const recipientAccepts = exists(
    db.select(one).from(recipient).where(and(
      eq(recipient.accountId, p('toAccount')),
      eq(recipient.id, p('to')),
      isNull(recipient.deletedAt),
      or(eq(recipient.accountId, p('account')), acceptsMessagesOf(recipient, { alias: sender.alias, id: sender.id })),
    )),
  )
  const senderIsMember = exists(
    db.select(one).from(channelMembers)
      .innerJoin(
        channels,
        and(eq(channels.accountId, channelMembers.accountId), eq(channels.id, channelMembers.channelId)),
      )
      .where(
        inAccount(
          channelMembers,
          eq(channelMembers.channelId, p('channel')),
          eq(channelMembers.agentId, p('from')),
          isNull(channels.deletedAt),
        ),
      ),
  )
  const trialNumber = db.select({ n: sql`${trials.used} + 1` }).from(trials)
    .where(inAccount(trials, eq(trials.agentId, p('from'))))

  // A person writes as themself and as nobody else, and no program writes as a person.
  const isWhoItSays = eq(sql`(${sender.type} = 'human')`, sql`(${p('type')} = 'human')`)

  /** The row of the message, if every condition holds at the moment of the commit. */
  const add = (channel: typeof messages.channelId | null, condition: SQL) =>
    db.insert(messages).select(
      db.select({
        seq: sql<number>`NULL`.as('seq'),
        accountId: sender.accountId,
        id: value('id'),
        fromAgentId: sender.id,
        fromAlias: sender.alias,
        type: value<MessageType>('type'),
        recipient: value('recipient'),
        channelId: channel ? value('channel') : sql<string>`NULL`.as('channel_id'),
        replyToMessageId: value<string | null>('replyToMessageId'),
        conversationId: value<string | null>('conversationId'),
        flagged: value<boolean>('flagged'),
        createdAt: value<number>('at'),
        trialNumber: sql<number | null>`(${trialNumber})`.as('trial_number'),
        sanitized: value<boolean>('sanitized'),
        hops: value<number>('hops'),
        body: value('body'),
        a2a: value<string | null>('a2a'),
      }).from(sender)
        .where(
          inAccount(
            sender,
            eq(sender.id, p('from')),
            isNull(sender.deletedAt),
            isWhoItSays,
            trialIsOpen,
            keyIsUnused,
            isWithinDay(db),
            mayTakeTurn(db, sql`${sender.alias}`),
            condition,
          ),
        ),
    ).onConflictDoNothing().toSQL()
  const addDirect = add(null, and(recipientAccepts, hasRoom(db))!)
  const addPost = add(messages.channelId, senderIsMember)

  const isStored = inAccount(messages, eq(messages.id, p('id')))
  const requireStored = precondition(db, exists(db.select(one).from(messages).where(isStored)))
  const numberOfMessage = db.select({ n: messages.trialNumber }).from(messages).where(isStored)
  // The message knows its number, so counting it twice changes nothing, and a refused send has no number to count.
  const countTrial = db.update(trials).set({ used: sql`max(${trials.used}, (${numberOfMessage}))` })
    .where(inAccount(trials, eq(trials.agentId, p('from')), exists(numberOfMessage))).toSQL()

  const addressed = {
    ...newDelivery,
    accountId: value('toAccount'),
    agentId: value('to'),
    strangerId: value<string | null>('stranger'),
    inbox: sql<number>`(${inboxOf(p('toAccount'), p('to'))})`.as('inbox'),
  }
  const deliverAs = (fields: Partial<typeof newDelivery>) =>
    db.insert(deliveries).select(db.select({ ...addressed, ...fields }).from(messages).where(isStored))
      .onConflictDoNothing().toSQL()
  const deliver = deliverAs({})
  const ofTask = { taskId: value<string | null>('task') }
  const deliverOfTask = deliverAs(ofTask)
  const deliverInTask = deliverAs({
    ...ofTask,
    state: sql<'task'>`'task'`.as('state'),
    readAt: value<null>('at') as never,
  })
  const addKey = db.insert(idempotencyKeys).select(
    db.select({
      accountId: messages.accountId,
      agentId: value('from'),
      key: value('key'),
      requestHash: value('requestHash'),
      messageId: messages.id,
      createdAt: value<number>('at'),
      receipt: sql<null>`NULL`.as('receipt'),
    }).from(messages).where(isStored),
  ).onConflictDoUpdate({
    target: [idempotencyKeys.accountId, idempotencyKeys.agentId, idempotencyKeys.key],
    set: {
      requestHash: sql`excluded.request_hash`,
      messageId: sql`excluded.message_id`,
      createdAt: sql`excluded.created_at`,
      receipt: null,
    },
    setWhere: lte(idempotencyKeys.createdAt, p('keysSince')),
  }).toSQL()

  const sentFields = {
    id: messages.id,
    recipient: messages.recipient,
    conversationId: messages.conversationId,
    createdAt: messages.createdAt,
    sanitized: messages.sanitized,
    hops: messages.hops,
  }
  const sent = db.select({ ...sentFields, fromAlias: messages.fromAlias }).from(messages)
    .where(inAccount(messages, eq(messages.id, p('id')), eq(messages.fromAgentId, p('from')))).prepare()
  const sentByKey = db.select({
    ...sentFields,
    requestHash: idempotencyKeys.requestHash,
    receipt: idempotencyKeys.receipt,
    error: sql<string | null>`NULL`.as('error'),
  }).from(idempotencyKeys)
    .innerJoin(
      messages,
      and(eq(messages.accountId, idempotencyKeys.accountId), eq(messages.id, idempotencyKeys.messageId)),
    )
    .where(
      inAccount(
        idempotencyKeys,
        eq(idempotencyKeys.agentId, p('from')),
        eq(idempotencyKeys.key, p('key')),
        gt(idempotencyKeys.createdAt, p('since')),
      ),
    )
  const none = <T>(name: string) => sql<T>`NULL`.as(name)
  const blockedByKey = db.select({
    id: none<string>('id'),
    recipient: none<string>('recipient'),
    conversationId: none<string | null>('conversation_id'),
    createdAt: blockedSends.createdAt,
    sanitized: sql<boolean>`0`.as('sanitized'),
    hops: sql<number>`0`.as('hops'),
    requestHash: blockedSends.requestHash,
    receipt: none<string | null>('receipt'),
    error: sql<string | null>`${blockedSends.error}`.as('error'),
  }).from(blockedSends)
    .where(
      inAccount(
        blockedSends,
        eq(blockedSends.agentId, p('from')),
        eq(blockedSends.key, p('key')),
        gt(blockedSends.createdAt, p('since')),
      ),
    )
  const byKey = unionAll(sentByKey, blockedByKey).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** A message that the agent itself sent. */
      sent: (id: string, from: string) => account.one(sent, { id, from }),
      /**
       * The send that an agent already made with this idempotency key after `since`. `error` is JSON of the error of one
       * that was blocked; the other fields of that one say nothing.
       */
      byKey: (from: string, key: string, since: number) => account.one(byKey, { from, key, since }),
    }),
    changes: (account: AccountBinding) => ({
      /** Store a direct message. */
      addDirect: (message: NewMessage, to: InboxAddress, conditions: SendConditions) => ({
        ...account.bind(addDirect, {
          ...message,
          ...conditions,
          toAccount: to.home ?? account.accountId,
          to: to.agentId,
        }),
        subject: subjectOf(message),
      }),
      /** Store a post to a channel that the sender is a member of. */
      addPost: (message: NewMessage, channel: string, conditions: SendConditions) =>
        account.bind(addPost, { ...message, ...conditions, channel, toAccount: account.accountId, to: null }),
      requireStored: ({ id }: NewMessage) => account.bind(requireStored, { id }),
      countTrial: ({ id, from }: NewMessage) => account.bind(countTrial, { id, from }),
      /** One delivery, to the inbox of a direct message. */
      deliver: (message: NewMessage, to: InboxAddress) => {
        const { id, at, taskId, isInTaskAlone } = message
        const stranger = to.home === undefined ? null : message.from
        const toAccount = to.home ?? account.accountId
        const values = { id, at, toAccount, to: to.agentId, stranger, chars: lengthOf(message) }
        const statement = taskId === null
          ? account.bind(deliver, values)
          : account.bind(isInTaskAlone ? deliverInTask : deliverOfTask, { ...values, task: taskId })
        return { ...statement, subject: subjectOf(message) }
      },
      addKey: (message: NewMessage, requestHash: string) => {
        const { id, from, key, keysSince, at } = message
        return { ...account.bind(addKey, { id, from, key, keysSince, requestHash, at }), subject: subjectOf(message) }
      },
    }),
  }
}
