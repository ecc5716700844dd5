/** Reads tasks, for either end. */
import { type AccountDb, query } from '../sql.ts'
import { isRedactedByOthers, type StoredPart } from './new-message.ts'
import type { CallersWait } from './agents.ts'
import { taskChanges } from './task-changes.ts'
import { type TaskEnd, taskEnds, type TaskMode, type TaskState } from './task-ends.ts'

/** A task without its messages and events. Times are milliseconds since the epoch. */
export interface TaskRow {
  id: string
  accountId: string
  clientAgentId: string
  clientAlias: string
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
  expiresAt: number | null
  /** Approximate size of its messages and artifacts in bytes. */
  bytes: number
  /** 1 if its client was notified that the recipient is silent. */
  quiet: number
}

/** The content of a task's message; `a2a` is JSON text or null. */
export interface TaskMessageRow {
  taskId: string
  messageId: string
  at: number
  role: 'user' | 'agent' | 'result'
  body: string
  a2a: string | null
  /** 1 if another account's guardrail redacted it. The client must not learn which passages. */
  isHidden: number
}

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

export interface TaskPartRow {
  id: string
  encoding: StoredPart['encoding']
  content: string
}

export interface TaskFilter {
  contextId: string | null
  state: TaskState | null
  recipient: string | null
  since: number | null
}

const columns = `tasks.id, tasks.account_id, tasks.client_agent_id,
  (SELECT agents.alias FROM agents
    WHERE agents.account_id = tasks.account_id AND agents.id = tasks.client_agent_id) AS client_alias,
  tasks.message_id, tasks.recipient_account_id, tasks.recipient_agent_id, tasks.recipient_alias,
  tasks.conversation_id, tasks.context_id, tasks.mode, tasks.state, tasks.status_at, tasks.generation, tasks.expires_at,
  tasks.bytes, tasks.quiet`
const isOneOf = 'tasks.id IN (SELECT value FROM json_each(:tasks))'
const joinTaskMessages = `JOIN task_messages ON task_messages.account_id = tasks.account_id
  AND task_messages.task_id = tasks.id`
const joinMessages = `${joinTaskMessages}
  JOIN messages ON messages.account_id = task_messages.sender_account_id AND messages.id = task_messages.message_id`
const joinParts = `${joinTaskMessages}
  JOIN parts ON parts.account_id = task_messages.sender_account_id AND parts.message_id = task_messages.message_id`

/** How many chunks are read for an artifact's end, and how many parts at the end of each. */
const maxEndChunks = 200
const maxEndParts = 100

/** A control character, which never occurs in texts. */
const endOfText = 'char(31)'
/** The texts of a JSON array's last parts. */
const textsIn = (parts: string, text = "part.value ->> '$.text'", join = '') => `
  (SELECT group_concat(${text}, ${endOfText})
    FROM (SELECT json_array_length(${parts}) - ${maxEndParts} AS start) CROSS JOIN json_each(${parts}) AS part ${join}
    WHERE part.key >= start)`
const textOfShownPart = `CASE part.value ->> '$.kind'
  WHEN 'text' THEN parts.content
  WHEN 'part' THEN parts.content ->> '$.text'
  WHEN 'parts' THEN ${textsIn('parts.content')}
  ELSE part.value ->> '$.text' END`
const joinContent = `LEFT JOIN parts ON parts.account_id = messages.account_id AND parts.message_id = messages.id
  AND parts.id = part.value ->> '$.part_id'`

const isHeld = 'messages.seq < 0'
// A task created by a held message does not exist for its recipient yet.
const isMadeByHeld = `EXISTS (SELECT 1 FROM messages
  WHERE messages.account_id = tasks.account_id AND messages.id = tasks.message_id AND ${isHeld})`

function queriesOf(end: string, isHidden = 'false') {
  const events = (condition: string) => `
    SELECT task_events.task_id, task_events.n, task_events.at, task_events.state, task_events.reason,
      task_events.message_id, messages.body, messages.a2a, artifacts.artifact_id, artifacts.append,
      artifacts.last_chunk, artifacts.name, artifacts.parts
    FROM tasks
    JOIN task_events ON task_events.account_id = tasks.account_id AND task_events.task_id = tasks.id
    LEFT JOIN artifacts ON artifacts.account_id = task_events.account_id AND artifacts.task_id = task_events.task_id
      AND artifacts.n = task_events.n
    LEFT JOIN messages ON messages.account_id = task_events.sender_account_id AND messages.id = task_events.message_id
    WHERE ${end} AND ${condition}
    ORDER BY task_events.n`
  return {
    byId: query<TaskRow>(`SELECT ${columns} FROM tasks WHERE ${end} AND tasks.id = :task AND NOT ${isHidden}`),
    history: query<TaskMessageRow>(`
      SELECT task_messages.task_id, messages.id AS message_id, messages.created_at AS at, task_messages.role,
        messages.body, messages.a2a, task_messages.role = 'user' AND ${isRedactedByOthers()} AS is_hidden
      FROM tasks ${joinMessages}
      WHERE ${end} AND ${isOneOf}
      ORDER BY ${isHeld}, abs(messages.seq)`),
    all: query<TaskEventRow>(events(isOneOf)),
    statuses: query<TaskEventRow>(events(`${isOneOf} AND task_events.n = (
      SELECT max(latest.n) FROM task_events AS latest WHERE latest.account_id = tasks.account_id
        AND latest.task_id = tasks.id AND latest.state IS NOT NULL)`)),
    after: query<TaskEventRow>(`${events('tasks.id = :task AND task_events.n > :after')} LIMIT :limit`),
    parts: query<TaskPartRow>(`
      SELECT parts.id, parts.encoding, parts.content FROM tasks ${joinParts}
      WHERE ${end} AND ${isOneOf} AND parts.message_id IN (SELECT value FROM json_each(:messages))`),
    // The unary plus keeps the order of the primary key, so that only the newest chunks are read.
    chunkEnds: query<{ text: string; append: number }>(`
      SELECT artifacts.append, substr(coalesce(
          ${textsIn('artifacts.parts')},
          ${textsIn("messages.a2a, '$.parts'", textOfShownPart, joinContent)},
          CASE WHEN json_type(messages.a2a, '$.parts') IS NULL THEN messages.body END,
          ''), -:chars) AS text
      FROM tasks
      JOIN artifacts ON artifacts.account_id = tasks.account_id AND artifacts.task_id = tasks.id
      JOIN task_events ON task_events.account_id = artifacts.account_id AND task_events.task_id = artifacts.task_id
        AND task_events.n = artifacts.n
      LEFT JOIN messages ON messages.account_id = task_events.sender_account_id AND messages.id = task_events.message_id
      WHERE ${end} AND tasks.id = :task AND artifacts.artifact_id = :artifact
      ORDER BY artifacts.n DESC LIMIT ${maxEndChunks}`),
  }
}
const ends = { client: queriesOf(taskEnds.client), recipient: queriesOf(taskEnds.recipient, isMadeByHeld) }

const byMessage = query<{ id: string }>(`
  SELECT tasks.id FROM task_messages
  JOIN tasks ON tasks.account_id = task_messages.account_id AND tasks.id = task_messages.task_id
  WHERE task_messages.account_id = :account AND task_messages.sender_account_id = :account
    AND task_messages.message_id = :message AND tasks.client_agent_id = :agent
  LIMIT 1`)

const isListed = `${taskEnds.client} AND coalesce(tasks.context_id = :context, 1)
  AND coalesce(tasks.state = :state, 1) AND coalesce(tasks.recipient_alias = :alias, 1) AND tasks.status_at >= :since`
const list = query<TaskRow>(`
  SELECT ${columns} FROM tasks
  WHERE ${isListed} AND (tasks.status_at < :beforeAt OR (tasks.status_at = :beforeAt AND tasks.id < :beforeTask))
  ORDER BY tasks.status_at DESC, tasks.id DESC LIMIT :limit`)
const listed = query<{ n: number }>(`SELECT count(*) AS n FROM tasks WHERE ${isListed}`)
const conversation = query<{ conversationId: string }>(`
  SELECT conversation_id FROM contexts
  WHERE account_id = :account AND agent_id = :agent AND context_id = :context AND recipient_agent_id = :to`)
const waiting = query<{ id: string }>(`
  SELECT tasks.id FROM tasks
  WHERE ${taskEnds.client} AND tasks.conversation_id = :conversationId AND tasks.expires_at IS NOT NULL
    AND tasks.state IN ('input-required', 'auth-required')
  ORDER BY tasks.id LIMIT 10`)

const repeated = query<{ id: string; messageId: string; createdAt: number }>(`
  SELECT tasks.id, tasks.message_id, tasks.created_at FROM tasks
  WHERE ${taskEnds.client} AND tasks.repeat_hash = :repeatHash AND tasks.expires_at IS NOT NULL
  ORDER BY tasks.id DESC LIMIT 1`)
const recipientOf = query<{ callersWait: CallersWait; hasLeased: number }>(`
  SELECT agents.callers_wait, EXISTS (
    SELECT 1 FROM leases WHERE leases.account_id = tasks.recipient_account_id
      AND leases.agent_id = tasks.recipient_agent_id AND leases.expires_at > :at) AS has_leased
  FROM tasks
  JOIN agents ON agents.account_id = tasks.recipient_account_id AND agents.id = tasks.recipient_agent_id
  WHERE ${taskEnds.client} AND tasks.id = :task`)

export const tasks = {
  reads: (account: AccountDb) => ({
    of: (end: TaskEnd, agent: string, task: string): Promise<TaskRow | undefined> =>
      account.one(ends[end].byId, { agent, task }),
    history: (end: TaskEnd, agent: string, ids: readonly string[]): Promise<TaskMessageRow[]> =>
      account.all(ends[end].history, { agent, tasks: JSON.stringify(ids) }),
    events: (end: TaskEnd, agent: string, ids: readonly string[], { withArtifacts }: { withArtifacts: boolean }) =>
      account.all(withArtifacts ? ends[end].all : ends[end].statuses, {
        agent,
        tasks: JSON.stringify(ids),
      }),
    eventsAfter: (agent: string, task: string, after: number, limit: number): Promise<TaskEventRow[]> =>
      account.all(ends.client.after, { agent, task, after, limit }),
    /** The separately stored parts of these messages. */
    parts: (
      end: TaskEnd,
      agent: string,
      ids: readonly string[],
      messages: readonly string[],
    ): Promise<TaskPartRow[]> =>
      account.all(ends[end].parts, { agent, tasks: JSON.stringify(ids), messages: JSON.stringify(messages) }),
    /** The last `chars` characters of an artifact, split by text part. For the task's recipient. */
    endOfArtifact: async (agent: string, task: string, artifact: string, chars: number): Promise<string[]> => {
      let end = ''
      for (const { text, append } of await account.all(ends.recipient.chunkEnds, { agent, task, artifact, chars })) {
        end = text + end
        if (append === 0 || end.length >= chars) break
      }
      return end.slice(-chars).split('\x1f')
    },
    byMessage: async (agent: string, message: string): Promise<string | undefined> =>
      (await account.one(byMessage, { agent, message }))?.id,
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
    count: async (agent: string, { contextId, state, recipient, since }: TaskFilter): Promise<number> =>
      (await account.one(listed, { agent, context: contextId, state, alias: recipient, since: since ?? 0 }))!.n,
    conversation: async (agent: string, context: string, recipient: string): Promise<string | undefined> =>
      (await account.one(conversation, { agent, context, to: recipient }))?.conversationId,
    /** The open task whose newest client message has this hash. */
    repeated: (agent: string, repeatHash: string) => account.one(repeated, { agent, repeatHash }),
    /** Whether callers wait for the recipient, and whether it has a timed lease that is open at `at`. */
    recipientOf: (agent: string, task: string, at: number) => account.one(recipientOf, { agent, task, at }),
    waitingForClient: async (agent: string, conversationId: string): Promise<string[]> =>
      (await account.all(waiting, { agent, conversationId })).map(({ id }) => id),
  }),
  changes: taskChanges,
}
