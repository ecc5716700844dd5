/**
 * Looking at tasks, from either end: that of the client, whose account a task belongs to, and that of the recipient. See
 * docs/protocol.md, "Tasks".
 */
import { and, asc, desc, eq, gt, gte, isNotNull, lt, or, type SQL, sql } from 'drizzle-orm'
import { agents, artifacts, contexts, messages, parts, taskEvents, taskMessages, tasks } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'
import { isRedactedByOthers } from './parts.ts'
import { prepareTaskChanges } from './task-changes.ts'
import { type TaskEnd, taskEnds, type TaskMode, type TaskState } from './task-ends-old.ts'

/** A task without its messages and events. Times are milliseconds since the epoch. */
export interface TaskRow {
  id: string
  accountId: string
  clientAgentId: string
  clientAlias: string
  /** The message that made it. */
  messageId: string
  recipientAccountId: string
  recipientAgentId: string
  recipientAlias: string
  conversationId: string
  contextId: string
  mode: TaskMode
  state: TaskState
  statusAt: number
  generation: number
  /** Null once the task has ended. */
  expiresAt: number | null
}

/** The content of a message of a task; `a2a` is JSON text or null. */
export interface TaskMessageRow {
  taskId: string
  messageId: string
  /** `result`: the content of an artifact. */
  role: 'user' | 'agent' | 'result'
  body: string
  a2a: string | null
  /** 1 if a guardrail of another account masked it: where is not for the client to see. */
  isHidden: number
}

/** An event of a task. `state` is null for an artifact. */
export interface TaskEventRow {
  taskId: string
  n: number
  at: number
  state: TaskState | null
  reason: string | null
  messageId: string | null
  body: string | null
  a2a: string | null
  artifactId: string | null
  append: number | null
  lastChunk: number | null
  name: string | null
  parts: string | null
}

/** A part of a message of a task that is stored apart. */
export interface TaskPartRow {
  id: string
  encoding: 'utf8' | 'base64'
  content: string
}

/** What a list of tasks is limited to; null for no limit. */
export interface TaskFilter {
  contextId: string | null
  state: TaskState | null
  /** The alias of the recipient. */
  recipient: string | null
  since: number | null
}

export function prepareTasks(db: Db) {
  const clientAlias = sql`(SELECT ${agents.alias} FROM ${agents}
    WHERE ${agents.accountId} = ${tasks.accountId} AND ${agents.id} = ${tasks.clientAgentId})`
  const fields = {
    id: tasks.id,
    accountId: tasks.accountId,
    clientAgentId: tasks.clientAgentId,
    clientAlias: sql<string>`${clientAlias}`.as('client_alias'),
    messageId: tasks.messageId,
    recipientAccountId: tasks.recipientAccountId,
    recipientAgentId: tasks.recipientAgentId,
    recipientAlias: tasks.recipientAlias,
    conversationId: tasks.conversationId,
    contextId: tasks.contextId,
    mode: tasks.mode,
    state: tasks.state,
    statusAt: tasks.statusAt,
    generation: tasks.generation,
    expiresAt: tasks.expiresAt,
  }
  const isOneOf = sql`${tasks.id} IN (SELECT value FROM json_each(${p('tasks')}))`
  const ofMessage = and(eq(messages.accountId, taskMessages.senderAccountId), eq(messages.id, taskMessages.messageId))
  const ofEvent = and(eq(messages.accountId, taskEvents.senderAccountId), eq(messages.id, taskEvents.messageId))

  const redactedByOthers = isRedactedByOthers(db)

  const queriesOf = (end: SQL) => {
    const history = db.select({
      taskId: taskMessages.taskId,
      messageId: messages.id,
      role: taskMessages.role,
      body: sql<string>`${messages.body}`.as('body'),
      a2a: sql<string | null>`${messages.a2a}`.as('a2a'),
      isHidden: sql<number>`${taskMessages.role} = 'user' AND ${redactedByOthers}`.as('is_hidden'),
    }).from(tasks)
      .innerJoin(taskMessages, and(eq(taskMessages.accountId, tasks.accountId), eq(taskMessages.taskId, tasks.id)))
      .innerJoin(messages, ofMessage)
      .where(and(end, isOneOf)).orderBy(messages.seq).prepare()
    const events = (condition: SQL | undefined) =>
      db.select({
        taskId: taskEvents.taskId,
        n: taskEvents.n,
        at: taskEvents.at,
        state: taskEvents.state,
        reason: taskEvents.reason,
        messageId: taskEvents.messageId,
        body: sql<string | null>`${messages.body}`.as('body'),
        a2a: sql<string | null>`${messages.a2a}`.as('a2a'),
        artifactId: sql<string | null>`${artifacts.artifactId}`.as('artifact_id'),
        append: sql<number | null>`${artifacts.append}`.as('append'),
        lastChunk: sql<number | null>`${artifacts.lastChunk}`.as('last_chunk'),
        name: sql<string | null>`${artifacts.name}`.as('name'),
        parts: sql<string | null>`${artifacts.parts}`.as('parts'),
      }).from(tasks)
        .innerJoin(taskEvents, and(eq(taskEvents.accountId, tasks.accountId), eq(taskEvents.taskId, tasks.id)))
        .leftJoin(
          artifacts,
          and(
            eq(artifacts.accountId, taskEvents.accountId),
            eq(artifacts.taskId, taskEvents.taskId),
            eq(artifacts.n, taskEvents.n),
          ),
        )
        .leftJoin(messages, ofEvent)
        .where(and(end, condition)).orderBy(taskEvents.n)
    return {
      sizesOfArtifacts: db.select({
        taskId: tasks.id,
        bytes: sql<number>`sum(octet_length(${artifacts.parts}))`.as('bytes'),
      }).from(tasks)
        .innerJoin(artifacts, and(eq(artifacts.accountId, tasks.accountId), eq(artifacts.taskId, tasks.id)))
        .where(and(end, isOneOf)).groupBy(tasks.id).prepare(),
      sizesOfMessages: db.select({
        taskId: tasks.id,
        bytes: sql<number>`sum(octet_length(${messages.body}) + coalesce(octet_length(${messages.a2a}), 0))`.as(
          'bytes',
        ),
      }).from(tasks)
        .innerJoin(taskMessages, and(eq(taskMessages.accountId, tasks.accountId), eq(taskMessages.taskId, tasks.id)))
        .innerJoin(messages, ofMessage)
        .where(and(end, isOneOf)).groupBy(tasks.id).prepare(),
      sizesOfParts: db.select({
        taskId: tasks.id,
        bytes: sql<number>`sum(${parts.bytes})`.as('bytes'),
      }).from(tasks)
        .innerJoin(taskMessages, and(eq(taskMessages.accountId, tasks.accountId), eq(taskMessages.taskId, tasks.id)))
        .innerJoin(
          parts,
          and(eq(parts.accountId, taskMessages.senderAccountId), eq(parts.messageId, taskMessages.messageId)),
        )
        .where(and(end, isOneOf)).groupBy(tasks.id).prepare(),
      byId: db.select(fields).from(tasks).where(and(end, eq(tasks.id, p('task')))).prepare(),
      history,
      all: events(isOneOf).prepare(),
      states: events(and(isOneOf, isNotNull(taskEvents.state))).prepare(),
      after: events(and(eq(tasks.id, p('task')), gt(taskEvents.n, p('after')))).limit(p('limit')).prepare(),
      parts: db.select({ id: parts.id, encoding: parts.encoding, content: parts.content }).from(tasks)
        .innerJoin(taskMessages, and(eq(taskMessages.accountId, tasks.accountId), eq(taskMessages.taskId, tasks.id)))
        .innerJoin(
          parts,
          and(eq(parts.accountId, taskMessages.senderAccountId), eq(parts.messageId, taskMessages.messageId)),
        )
        .where(and(end, isOneOf)).prepare(),
    }
  }
  const ends = { client: queriesOf(taskEnds.client), recipient: queriesOf(taskEnds.recipient) }

  const byMessage = db.select({ id: tasks.id }).from(taskMessages)
    .innerJoin(tasks, and(eq(tasks.accountId, taskMessages.accountId), eq(tasks.id, taskMessages.taskId)))
    .where(inAccount(
      taskMessages,
      eq(taskMessages.senderAccountId, p('account')),
      eq(taskMessages.messageId, p('message')),
      eq(tasks.clientAgentId, p('agent')),
    )).limit(1).prepare()
  const openIn = (more: SQL | undefined) =>
    db.select({ id: tasks.id }).from(tasks).where(and(
      taskEnds.recipient,
      eq(tasks.accountId, p('clientAccount')),
      eq(tasks.clientAgentId, p('client')),
      isNotNull(tasks.expiresAt),
      more,
    )).orderBy(desc(tasks.id)).limit(1).prepare()
  const newestOpen = openIn(undefined)
  const newestOpenIn = openIn(eq(tasks.conversationId, p('conversationId')))

  const isListed = and(
    taskEnds.client,
    sql`coalesce(${tasks.contextId} = ${p('context')}, 1)`,
    sql`coalesce(${tasks.state} = ${p('state')}, 1)`,
    sql`coalesce(${tasks.recipientAlias} = ${p('alias')}, 1)`,
    gte(tasks.statusAt, p('since')),
  )
  const isBehind = or(
    lt(tasks.statusAt, p('beforeAt')),
    and(eq(tasks.statusAt, p('beforeAt')), lt(tasks.id, p('beforeTask'))),
  )
  const list = db.select(fields).from(tasks).where(and(isListed, isBehind))
    .orderBy(desc(tasks.statusAt), desc(tasks.id)).limit(p('limit')).prepare()
  const listed = db.select({ n: sql<number>`count(*)` }).from(tasks).where(isListed).prepare()
  const conversation = db.select({ conversationId: contexts.conversationId }).from(contexts).where(inAccount(
    contexts,
    eq(contexts.agentId, p('agent')),
    eq(contexts.contextId, p('context')),
    eq(contexts.recipientAgentId, p('to')),
  )).prepare()
  const waiting = db.select({ id: tasks.id }).from(tasks).where(and(
    taskEnds.client,
    eq(tasks.conversationId, p('conversationId')),
    isNotNull(tasks.expiresAt),
    sql`${tasks.state} IN ('input-required', 'auth-required')`,
  )).orderBy(asc(tasks.id)).limit(10).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** A task that the agent is this end of. */
      of: (end: TaskEnd, agent: string, task: string): Promise<TaskRow | undefined> =>
        account.one(ends[end].byId, { agent, task }),
      /** The messages of these tasks, in the order in which they were sent. */
      history: (end: TaskEnd, agent: string, ids: readonly string[]): Promise<TaskMessageRow[]> =>
        account.all(ends[end].history, { agent, tasks: JSON.stringify(ids) }),
      /** All events of these tasks, or those about their states. */
      events: (end: TaskEnd, agent: string, ids: readonly string[], { withArtifacts }: { withArtifacts: boolean }) =>
        account.all(withArtifacts ? ends[end].all : ends[end].states, {
          agent,
          tasks: JSON.stringify(ids),
        }) as Promise<TaskEventRow[]>,
      /** The events of a task behind the number `after`. */
      eventsAfter: (agent: string, task: string, after: number, limit: number): Promise<TaskEventRow[]> =>
        account.all(ends.client.after, { agent, task, after, limit }),
      /** What is stored apart of the messages of these tasks. */
      parts: (end: TaskEnd, agent: string, ids: readonly string[]): Promise<TaskPartRow[]> =>
        account.all(ends[end].parts, { agent, tasks: JSON.stringify(ids) }),
      /** About how many bytes the artifacts of these tasks take, by their ids. Tasks without any may be missing. */
      artifactBytes: async (end: TaskEnd, agent: string, ids: readonly string[]): Promise<Map<string, number>> =>
        summed([await account.all(ends[end].sizesOfArtifacts, { agent, tasks: JSON.stringify(ids) })]),
      /** The same of all that these tasks have. */
      bytes: async (end: TaskEnd, agent: string, ids: readonly string[]): Promise<Map<string, number>> => {
        const { sizesOfArtifacts, sizesOfMessages, sizesOfParts } = ends[end]
        const values = { agent, tasks: JSON.stringify(ids) }
        return summed(
          await Promise.all([
            account.all(sizesOfArtifacts, values),
            account.all(sizesOfMessages, values),
            account.all(sizesOfParts, values),
          ]),
        )
      },
      /** The id of the task of a message that the agent sent as its client. */
      byMessage: async (agent: string, message: string): Promise<string | undefined> =>
        (await account.one(byMessage, { agent, message }))?.id,
      /**
       * The newest open task that a client, of the account `home` or else of this one, waits for this agent with: in one
       * conversation or in any.
       */
      newestOpen: async (
        agent: string,
        { home = account.accountId, client, conversationId }: {
          home?: string
          client: string
          conversationId?: string
        },
      ): Promise<string | undefined> => {
        const values = { agent, clientAccount: home, client }
        const found = conversationId === undefined
          ? await account.one(newestOpen, values)
          : await account.one(newestOpenIn, { ...values, conversationId })
        return found?.id
      },
      /** Tasks of a client by the time of their status, newest first, behind a position. */
      list: (
        agent: string,
        { contextId, state, recipient, since }: TaskFilter,
        before: { at: number; id: string },
        limit: number,
      ): Promise<TaskRow[]> =>
        account.all(list, {
          ...{ agent, context: contextId, state, alias: recipient, since: since ?? 0, limit },
          ...{ beforeAt: before.at, beforeTask: before.id },
        }),
      /** How many tasks of a client there are in all. */
      count: async (agent: string, { contextId, state, recipient, since }: TaskFilter): Promise<number> =>
        (await account.one(listed, { agent, context: contextId, state, alias: recipient, since: since ?? 0 }))!.n,
      /** The id of the conversation that an agent calls `context`. */
      conversation: async (agent: string, context: string, recipient: string): Promise<string | undefined> =>
        (await account.one(conversation, { agent, context, to: recipient }))?.conversationId,
      /** The first tasks of a client in a conversation that wait for the client. */
      waitingForClient: async (agent: string, conversationId: string): Promise<string[]> =>
        (await account.all(waiting, { agent, conversationId })).map(({ id }) => id),
    }),
    changes: prepareTaskChanges(db),
  }
}

function summed(lists: { taskId: string; bytes: number | null }[][]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const { taskId, bytes } of lists.flat()) sizes.set(taskId, (sizes.get(taskId) ?? 0) + Number(bytes ?? 0))
  return sizes
}
