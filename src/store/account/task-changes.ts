/**
 * Changing tasks. Each change is one event, which is stored only while the task has not ended; what follows from it
 * happens only if the event is there. Ids of events are made before the unit, so a unit can be sent again.
 */
import { and, eq, exists, isNotNull, isNull, notExists, or, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import {
  agents,
  artifacts,
  contexts,
  deliveries,
  messages,
  taskEvents,
  taskMessages,
  tasks,
} from '../../../db/schema.ts'
import {
  type AccountBinding,
  p,
  type PlaceholderValues,
  precondition,
  type Statement,
  value,
} from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf, withAccount } from '../in-account-old.ts'
import { newDelivery, type NewMessage } from './new-message.ts'
import { type TaskEnd, taskEnds, type TaskMode, type TaskState } from './task-ends-old.ts'

/** A task about to be stored, with the message that makes it. */
export interface NewTask {
  id: string
  message: NewMessage
  /** The account of the recipient; undefined for this one. */
  home?: string
  recipientAgentId: string
  /** Without `@`. */
  recipientAlias: string
  conversationId: string
  contextId: string
  mode: TaskMode
  expiresAt: number
}

/** Who changes a task: an agent at one of its ends, or the grid itself in the account of the client. */
export type TaskChanger = { end: TaskEnd; agent: string } | { end: 'grid' }

/** A change of a task. */
export interface TaskChange {
  task: string
  /** The id of its event. */
  event: string
  at: number
  /** The new state; null for an artifact. */
  state: TaskState | null
  /** The states that it begins in; by default all that are not terminal. */
  from?: readonly TaskState[]
  /** The message of this account that says it, or null. */
  message?: string | null
  reason?: string | null
}

export interface NewChunk {
  task: string
  event: string
  artifactId: string
  append: boolean
  lastChunk: boolean
  name: string | null
  /** JSON; null if it is the content of the message of the event. */
  parts: string | null
}

const openStates: readonly TaskState[] = ['submitted', 'working', 'input-required', 'auth-required']

export function prepareTaskChanges(db: Db) {
  const one = { one: sql`1` }
  const isTask = eq(tasks.id, p('task'))
  const isOpen = isNotNull(tasks.expiresAt)
  const sent = db.select(one).from(messages).where(inAccount(messages, eq(messages.id, p('id'))))
  const ofTask = and(eq(taskEvents.accountId, tasks.accountId), eq(taskEvents.taskId, tasks.id))!
  const isEvent = eq(taskEvents.id, p('event'))
  const event = db.select(one).from(taskEvents).where(and(ofTask, isEvent))

  const keepContext = db.insert(contexts).values(withAccount({
    agentId: p('from'),
    contextId: p('context'),
    recipientAgentId: p('to'),
    conversationId: p('conversationId'),
    usedAt: p('at'),
  })).onConflictDoUpdate({
    target: [contexts.accountId, contexts.agentId, contexts.contextId, contexts.recipientAgentId],
    set: { usedAt: sql`excluded.used_at` },
  }).toSQL()
  const addTask = db.insert(tasks).select(
    db.select({
      accountId: messages.accountId,
      id: value('task'),
      clientAgentId: messages.fromAgentId,
      recipientAccountId: value('toAccount'),
      recipientAgentId: value('to'),
      recipientAlias: value('alias'),
      messageId: messages.id,
      conversationId: value('conversationId'),
      contextId: value('context'),
      mode: value<TaskMode>('mode'),
      state: sql<'submitted'>`'submitted'`.as('state'),
      statusAt: value<number>('at'),
      generation: sql<number>`1`.as('generation'),
      createdAt: value<number>('at'),
      expiresAt: value<number>('expiresAt'),
    }).from(messages).where(inAccount(messages, eq(messages.id, p('id')))),
  ).onConflictDoNothing().toSQL()
  const addFirstEvent = db.insert(taskEvents).select(
    db.select({
      seq: sql<number>`NULL`.as('seq'),
      accountId: tasks.accountId,
      taskId: tasks.id,
      n: sql<number>`1`.as('n'),
      id: value('id'),
      at: value<number>('at'),
      state: sql<'submitted'>`'submitted'`.as('state'),
      senderAccountId: sql<string | null>`NULL`.as('sender_account_id'),
      messageId: sql<string | null>`NULL`.as('message_id'),
      reason: sql<string | null>`NULL`.as('reason'),
    }).from(tasks).where(inAccount(tasks, isTask)),
  ).onConflictDoNothing().toSQL()

  const endOf = { ...taskEnds, grid: inAccount(tasks) }
  const statementsAt = (end: SQL) => ({
    // A unit that is sent again finds its own event, although the task may have ended with it.
    requireOpen: precondition(
      db,
      or(
        exists(db.select(one).from(tasks).where(and(end, isTask, isOpen))),
        exists(db.select(one).from(taskEvents).innerJoin(tasks, ofTask).where(and(end, isTask, isEvent))),
      )!,
    ),
    addMessage: db.insert(taskMessages).select(
      db.select({
        accountId: tasks.accountId,
        taskId: tasks.id,
        senderAccountId: value('account'),
        messageId: value('id'),
        role: value<'user' | 'agent' | 'result'>('role'),
      }).from(tasks).where(and(end, isTask, exists(sent))),
    ).onConflictDoNothing().toSQL(),
    addEvent: db.insert(taskEvents).select(
      db.select({
        seq: sql<number>`NULL`.as('seq'),
        accountId: tasks.accountId,
        taskId: tasks.id,
        n: sql<number>`${tasks.generation} + 1`.as('n'),
        id: value('event'),
        at: value<number>('at'),
        state: value<TaskState | null>('state'),
        senderAccountId: sql<string | null>`iif(${p('message')} IS NULL, NULL, ${p('account')})`.as(
          'sender_account_id',
        ),
        messageId: value<string | null>('message'),
        reason: value<string | null>('reason'),
      }).from(tasks).where(and(
        end,
        isTask,
        isOpen,
        sql`${tasks.state} IN (SELECT value FROM json_each(${p('states')}))`,
        notExists(event),
      )),
    ).toSQL(),
    apply: db.update(tasks).set({
      generation: sql`${tasks.generation} + 1`,
      state: sql`coalesce(${p('state')}, ${tasks.state})`,
      statusAt: sql`iif(${p('state')} IS NULL, ${tasks.statusAt}, ${p('at')})`,
      expiresAt: sql`iif(${p('ends')}, NULL, ${tasks.expiresAt})`,
    }).where(and(
      end,
      isTask,
      exists(
        db.select(one).from(taskEvents)
          .where(and(ofTask, isEvent, eq(taskEvents.n, sql`${tasks.generation} + 1`))),
      ),
    )).toSQL(),
    show: db.update(tasks).set({ mode: sql`'task'` })
      .where(and(end, isTask, isOpen, eq(tasks.mode, sql`'message'`))).toSQL(),
    outcome: db.select({ n: taskEvents.n }).from(tasks).innerJoin(taskEvents, ofTask)
      .where(and(end, isTask, isEvent)).toSQL(),
    addChunk: db.insert(artifacts).select(
      db.select({
        accountId: taskEvents.accountId,
        taskId: taskEvents.taskId,
        n: taskEvents.n,
        artifactId: value('artifact'),
        // Nothing can be appended to what is not there.
        append: sql<boolean>`${p('append')} AND EXISTS (SELECT 1 FROM ${artifacts} AS before
          WHERE before.account_id = ${tasks.accountId} AND before.task_id = ${tasks.id}
            AND before.artifact_id = ${p('artifact')} AND before.n < ${taskEvents.n})`.as('append'),
        lastChunk: value<boolean>('lastChunk'),
        name: value<string | null>('name'),
        parts: value<string | null>('parts'),
      }).from(tasks).innerJoin(taskEvents, ofTask).where(and(end, isTask, isEvent)),
    ).onConflictDoNothing().toSQL(),
  })
  const at = {
    client: statementsAt(endOf.client),
    recipient: statementsAt(endOf.recipient),
    grid: statementsAt(endOf.grid),
  }

  const canceled = db.select(one).from(tasks).innerJoin(taskEvents, ofTask)
    .where(and(taskEnds.client, isTask, isEvent))
  const ofClient = db.select({ id: taskMessages.messageId }).from(taskMessages)
    .where(inAccount(taskMessages, eq(taskMessages.taskId, p('task')), eq(taskMessages.role, sql`'user'`)))
  const sentToRecipient = and(
    eq(deliveries.senderAccountId, p('account')),
    sql`${deliveries.messageId} IN ${ofClient}`,
  )
  const withdraw = db.update(deliveries).set({ state: 'withdrawn', readAt: sql`${p('at')}` })
    .where(and(sentToRecipient, sql`${deliveries.state} = 'unread'`, exists(canceled))).toSQL()
  const wasRead = db.select(one).from(deliveries).where(and(sentToRecipient, sql`${deliveries.state} = 'read'`))
  const recipient = alias(agents, 'recipient')
  const addNotice = db.insert(messages).select(
    db.select({
      seq: sql<number>`NULL`.as('seq'),
      accountId: tasks.accountId,
      id: value('id'),
      fromAgentId: tasks.clientAgentId,
      fromAlias: agents.alias,
      type: sql<'system'>`'system'`.as('type'),
      recipient: sql<string>`'@' || ${tasks.recipientAlias}`.as('recipient'),
      channelId: sql<string | null>`NULL`.as('channel_id'),
      replyToMessageId: tasks.messageId,
      conversationId: tasks.conversationId,
      flagged: sql<boolean>`0`.as('flagged'),
      createdAt: value<number>('at'),
      trialNumber: sql<number | null>`NULL`.as('trial_number'),
      sanitized: sql<boolean>`0`.as('sanitized'),
      hops: sql<number>`0`.as('hops'),
      body: value('body'),
      a2a: sql<string | null>`NULL`.as('a2a'),
    }).from(tasks)
      .innerJoin(agents, and(eq(agents.accountId, tasks.accountId), eq(agents.id, tasks.clientAgentId)))
      .innerJoin(
        recipient,
        and(
          eq(recipient.accountId, tasks.recipientAccountId),
          eq(recipient.id, tasks.recipientAgentId),
          isNull(recipient.deletedAt),
        ),
      )
      .where(and(taskEnds.client, isTask, exists(canceled), exists(wasRead))),
  ).onConflictDoNothing().toSQL()
  const deliverNotice = db.insert(deliveries).select(
    db.select({
      ...newDelivery,
      accountId: tasks.recipientAccountId,
      agentId: tasks.recipientAgentId,
      inbox: sql<number>`(${inboxOf(tasks.recipientAccountId, tasks.recipientAgentId)})`.as('inbox'),
      strangerId: sql<
        string | null
      >`iif(${tasks.recipientAccountId} = ${tasks.accountId}, NULL, ${tasks.clientAgentId})`
        .as('stranger_id'),
      taskId: tasks.id,
    }).from(tasks).where(and(taskEnds.client, isTask, exists(sent))),
  ).onConflictDoNothing().toSQL()

  return (account: AccountBinding) => {
    const bound = (changer: TaskChanger): PlaceholderValues => changer.end === 'grid' ? {} : { agent: changer.agent }
    return {
      /** Remember what a client calls a conversation. */
      keepContext: ({ message, recipientAgentId, contextId, conversationId }: NewTask): Statement =>
        account.bind(keepContext, {
          ...{ from: message.from, context: contextId, to: recipientAgentId, conversationId, at: message.at },
        }),
      /** Store a task and its first event, if its message is stored. */
      add: (task: NewTask): [Statement, Statement] => {
        const { id, message, home, recipientAgentId, recipientAlias, mode, expiresAt } = task
        return [
          account.bind(addTask, {
            ...{ task: id, id: message.id, toAccount: home ?? account.accountId, to: recipientAgentId },
            ...{ alias: recipientAlias, conversationId: task.conversationId, context: task.contextId, mode },
            ...{ at: message.at, expiresAt },
          }),
          account.bind(addFirstEvent, { task: id, id: message.id, at: message.at }),
        ]
      },
      /** Fails the unit if the task has ended, unless the unit itself did that. */
      requireOpen: (changer: TaskChanger, task: string, event: string): Statement =>
        account.bind(at[changer.end].requireOpen, { ...bound(changer), task, event }),
      /** Count a stored message of this account as one of the task. */
      addMessage: (changer: TaskChanger, task: string, message: string, role: 'user' | 'agent' | 'result'): Statement =>
        account.bind(at[changer.end].addMessage, { ...bound(changer), task, id: message, role }),
      /** Store an event and what it changes, if the task has not ended and is in one of its first states. */
      change: (changer: TaskChanger, change: TaskChange): [Statement, Statement] => {
        const { task, event, at: time, state, from = openStates, message = null, reason = null } = change
        const ends = state !== null && !openStates.includes(state) ? 1 : 0
        const { addEvent, apply } = at[changer.end]
        const values = { ...bound(changer), task, event, at: time, state }
        return [
          account.bind(addEvent, { ...values, message, reason, states: JSON.stringify(from) }),
          account.bind(apply, { ...values, ends }),
        ]
      },
      /** The task is no longer one whose plain reply is the answer itself, if it has not ended. */
      show: (changer: TaskChanger, task: string): Statement =>
        account.bind(at[changer.end].show, { ...bound(changer), task }),
      /** Store what an event brought, if the event is there. */
      addChunk: (changer: TaskChanger, chunk: NewChunk): Statement => {
        const { task, event, artifactId, append, lastChunk, name, parts } = chunk
        return account.bind(at[changer.end].addChunk, {
          ...{ ...bound(changer), task, event, artifact: artifactId, append: append ? 1 : 0 },
          ...{ lastChunk: lastChunk ? 1 : 0, name, parts },
        })
      },
      /** Returns the column `n` of an event; no row if it was not stored. */
      outcome: (changer: TaskChanger, task: string, event: string): Statement => ({
        ...account.bind(at[changer.end].outcome, { ...bound(changer), task, event }),
        rows: 0,
      }),
      /**
       * What else an event that cancels a task does: messages that nobody has read leave the inbox, and a recipient that
       * has read one gets the message `notice` from the client.
       */
      withdraw: (agent: string, task: string, event: string, notice: { id: string; body: string; at: number }) => [
        account.bind(withdraw, { agent, task, event, at: notice.at }),
        account.bind(addNotice, { agent, task, event, ...notice }),
        account.bind(deliverNotice, { agent, task, id: notice.id, at: notice.at, chars: notice.body.length }),
      ],
    }
  }
}
