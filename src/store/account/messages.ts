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
import { type AccountBinding, p, precondition, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account.ts'
import { acceptsMessagesOf } from './access.ts'

export type MessageType = typeof messages.$inferSelect.type

/** A message about to be stored. `a2a` and `largeParts` are JSON text or null; `at` is milliseconds since the epoch. */
export interface NewMessage {
  id: string
  /** The id of the sending agent. */
  from: string
  type: MessageType
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  body: string
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  flagged: boolean
  /** Invisible characters were removed from it. */
  sanitized: boolean
  /** The idempotency key of the send, or null. */
  key: string | null
  /** Keys that were used at this time or before are free again. */
  keysSince: number
  /** The list of `StoredPart` that is stored apart from `a2a`. */
  largeParts: string | null
  /** How many answers led to it. */
  hops: number
  /** The alias of the sender of the message that it replies to, or null. */
  replyFrom: string | null
  /** The task that it belongs to, or null. */
  taskId: string | null
  /** It is in its task alone: it does not wait in the inbox. */
  isInTaskAlone: boolean
  at: number
}

/** A message that was reviewed. */
export interface ReviewedMessage extends NewMessage {
  /** Undefined if no guardrail objected to anything. */
  guarded?: GuardedSend
}

/** What guardrails decided about a message, beside what they changed in the message itself. */
export interface GuardedSend {
  /** The deliveries of a post that differ from it. */
  deliveries: ChangedDelivery[]
  /** What its sender is told in the receipt. */
  receipt: GuardedReceipt
  /** Store the verdicts: those of guardrails of this account, and those of the account of the recipient. */
  parts: Pick<SendParts, 'counts' | 'verdicts' | 'theirCounts' | 'theirVerdicts'>
}

/** A delivery of a post that a guardrail of its recipient changed. */
export interface ChangedDelivery {
  agentId: string
  /** There is none: the guardrail blocked the post. */
  isLeftOut: boolean
  /** The redacted text, and the A2A details as JSON; null for those of the message. */
  body: string | null
  a2a: string | null
  flagged: boolean
  /** The length of the text and inline A2A details, in UTF-16 units. */
  chars: number
}

/** A field is missing where it does not apply. */
export interface GuardedReceipt {
  /** How many members a post does not reach. */
  leftOut?: number
  /** What kinds of things were masked for all recipients. */
  redacted?: readonly string[]
}

/** The inbox of an agent of this account, or of the account `home`. */
export interface InboxAddress {
  agentId: string
  /** The account of the agent; undefined for this account. */
  home?: string
}

/**
 * The parts of a send. `message` stores the row if every condition holds; the other parts do something only if that
 * row is there, and change nothing when the unit is repeated.
 */
export interface SendParts {
  /** Fails the whole unit unless the lease that the message acks is open. */
  held?: Statement
  /** Fails the whole unit if the task that the message belongs to has ended. */
  taskOpen?: Statement
  message: Statement
  /** Counts the message on the trial of its sender. */
  trial?: Statement
  /** Stores what is too large for an inbox. */
  largeParts?: Statement
  /** Count and store the verdicts of guardrails of the account. */
  counts?: Statement
  verdicts?: Statement
  /** The same for the account of the recipient. */
  theirCounts?: Statement
  theirVerdicts?: Statement
  deliveries: Statement
  /** What it changes of the task that it belongs to. */
  task?: readonly Statement[]
  /** Remembers the idempotency key. */
  key?: Statement
  /** Fails the whole unit unless the message is stored. For a unit that does more than storing it. */
  required?: Statement
  /** Ack the messages that this one answers. */
  acked?: Statement
  closed?: Statement
  /** Returns the column `receipt`, the JSON of a `SendReceipt`; no row if the message is not stored. */
  receipt: Statement
}

/** The parts of a send in the order in which they must run. */
export function inOrder(parts: SendParts): SendParts {
  return {
    held: parts.held,
    taskOpen: parts.taskOpen,
    message: parts.message,
    required: parts.required,
    trial: parts.trial,
    largeParts: parts.largeParts,
    counts: parts.counts,
    verdicts: parts.verdicts,
    theirCounts: parts.theirCounts,
    theirVerdicts: parts.theirVerdicts,
    deliveries: parts.deliveries,
    acked: parts.acked,
    closed: parts.closed,
    task: parts.task,
    key: parts.key,
    receipt: parts.receipt,
  }
}

/** The columns of a new delivery, in their order; its inbox is filled in by the statement. */
export const newDelivery = {
  seq: sql<number>`NULL`.as('seq'),
  accountId: value('account'),
  agentId: value('agent'),
  senderAccountId: value('account'),
  messageId: value('id'),
  state: sql<'unread' | 'task'>`'unread'`.as('state'),
  chars: value<number>('chars'),
  createdAt: value<number>('at'),
  readAt: sql<null>`NULL`.as('read_at'),
  leaseId: sql<null>`NULL`.as('lease_id'),
  releaseCount: sql<number>`0`.as('release_count'),
  wokenAt: sql<null>`NULL`.as('woken_at'),
  strangerId: sql<string | null>`NULL`.as('stranger_id'),
  body: sql<string | null>`NULL`.as('body'),
  a2a: sql<string | null>`NULL`.as('a2a'),
  flagged: sql<boolean>`0`.as('flagged'),
  inbox: sql<number>`NULL`.as('inbox'),
  taskId: sql<string | null>`NULL`.as('task_id'),
}

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
            condition,
          ),
        ),
    ).onConflictDoNothing().toSQL()
  const addDirect = add(null, recipientAccepts)
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
      addDirect: (message: NewMessage, to: InboxAddress) => ({
        ...account.bind(addDirect, { ...message, toAccount: to.home ?? account.accountId, to: to.agentId }),
        subject: subjectOf(message),
      }),
      /** Store a post to a channel that the sender is a member of. */
      addPost: (message: NewMessage, channel: string) => account.bind(addPost, { ...message, channel }),
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

/** What a direct message is about: two with the same key depend on each other. Counting a trial has no subject. */
export function subjectOf({ id, from, key }: Pick<NewMessage, 'id' | 'from' | 'key'>): string {
  return key === null ? id : `${from} ${key}`
}

/** The length of the text and inline A2A details of a message, in UTF-16 units. */
export function lengthOf({ body, a2a }: Pick<NewMessage, 'body' | 'a2a'>): number {
  return body.length + (a2a?.length ?? 0)
}
