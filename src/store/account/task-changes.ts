/**
 * Changes of tasks. Each change is one event, which is stored only while the task has not ended. The change has effects
 * only if the event is stored. Event ids are generated before the unit, so a unit can be retried.
 */
import { isOfMessage } from './inbox-message.ts'
import { deliver, makeMessageDue } from './deliver.ts'
import type { Row } from '@libsql/client'
import { type AccountDb, precondition, type Query, type Statement, statement, traffic, type Values } from '../sql.ts'
import { addingKey, isNewKey, type NewMessage } from './new-message.ts'
import { type TaskEnd, taskEnds, type TaskMode, type TaskState } from './task-ends.ts'

/** A task to be stored, with the message that creates it. */
export interface NewTask {
  id: string
  message: NewMessage
  home?: string
  recipientAgentId: string
  recipientAlias: string
  conversationId: string
  contextId: string
  mode: TaskMode
  expiresAt: number
  repeatHash: string | null
}

/** Who changes a task: the client, the recipient, or the grid itself in the client's account. */
type TaskChanger = { end: TaskEnd; agent: string } | { end: 'grid' }

export interface TaskChange {
  task: string
  event: string
  at: number
  state: TaskState | null
  from?: readonly TaskState[]
  message?: string | null
  reason?: string | null
  /** The grid reports that the recipient has been silent for a long time. Stored only if this is still so. */
  quiet?: { since: number }
}

export interface NewChunk {
  task: string
  event: string
  artifactId: string
  append: boolean
  lastChunk: boolean
  name: string | null
  parts: string | null
}

/** An update's idempotency key. Keys from before `keysSince` count as new. */
export interface UpdateKey {
  key: string
  requestHash: string
  at: number
  keysSince: number
}

const openStates: readonly TaskState[] = ['submitted', 'working', 'input-required', 'auth-required']

const isOpen = 'tasks.expires_at IS NOT NULL'
const isSent = 'EXISTS (SELECT 1 FROM messages WHERE messages.account_id = :account AND messages.id = :id)'
const isOfTask = 'task_events.account_id = tasks.account_id AND task_events.task_id = tasks.id'
const isEvent = 'task_events.id = :event'

/**
 * Condition: the recipient has worked on the task without an event since `:quietSince`, and the client knows of the
 * task but has not been notified.
 */
export const isQuiet = `tasks.state = 'working' AND NOT tasks.quiet AND tasks.mode = 'task'
  AND NOT EXISTS (SELECT 1 FROM task_events WHERE ${isOfTask} AND task_events.n = tasks.generation
    AND task_events.at > :quietSince)`

interface ChangingTasks {
  /** A condition on `tasks`. */
  which: string
  /** The event's id, unique within a task. */
  event: string
  /** The new state. Null if the state does not change. */
  state: string
  message?: string
  reason?: string
  /** Whether the client is notified of the silence. */
  quiet?: string
}

/**
 * The statements that change open tasks at `:at`: the event, its log row, and the task. All values are SQL. An event
 * whose number the task does not have yet is new, so a retry changes nothing.
 */
export function changeTask(
  { which, event, state, message, reason = 'NULL', quiet = '0' }: ChangingTasks,
): Query<Row>[] {
  const sent = message === undefined ? 'NULL, NULL' : `iif(${message} IS NULL, NULL, :account), ${message}`
  const isNew = `${isOfTask} AND task_events.id = ${event} AND task_events.n = tasks.generation + 1`
  return [
    `INSERT INTO task_events (account_id, task_id, n, id, at, state, sender_account_id, message_id, reason)
    SELECT tasks.account_id, tasks.id, tasks.generation + 1, ${event}, :at, ${state}, ${sent}, ${reason} FROM tasks
    WHERE ${which} AND ${isOpen}
      AND NOT EXISTS (SELECT 1 FROM task_events WHERE ${isOfTask} AND task_events.id = ${event})`,
    `INSERT INTO log (kind, subject, home, state, at)
    SELECT 'task', tasks.id, tasks.account_id, nullif(task_events.state, tasks.state), task_events.at
    FROM tasks JOIN task_events ON ${isNew} WHERE ${which}`,
    `UPDATE tasks SET generation = generation + 1, state = coalesce(${state}, state),
      status_at = iif(${state} IS NULL, status_at, :at), quiet = ${quiet},
      expires_at = iif(${state} IS NULL OR ${state} IN (${openStates.map((state) => `'${state}'`)}), expires_at, NULL)
    WHERE ${which} AND EXISTS (SELECT 1 FROM task_events WHERE ${isNew})`,
  ].map(traffic)
}

/** Starts the tasks whose recipient `:agent` has read one of these `:messages`. */
export const readTasks = changeTask({
  which: `tasks.recipient_account_id = :account AND tasks.recipient_agent_id = :agent AND tasks.state = 'submitted'
    AND tasks.id IN (SELECT deliveries.task_id FROM deliveries
      WHERE ${isOfMessage('IN (SELECT value FROM json_each(:messages))')} AND deliveries.state = 'read'
        AND deliveries.task_id IS NOT NULL)`,
  event: `'read'`,
  state: `'working'`,
})

/** Moves tasks that match `which`, a condition on `tasks`, with their recipient into the account `:to`. */
export function moveTasks(which: string): string {
  return `UPDATE tasks SET recipient_account_id = :to WHERE ${which}`
}

const keepContext = traffic(`
  INSERT INTO contexts (account_id, agent_id, context_id, recipient_agent_id, conversation_id, used_at)
  VALUES (:account, :from, :context, :to, :conversationId, :at)
  ON CONFLICT (account_id, agent_id, context_id, recipient_agent_id) DO UPDATE SET used_at = excluded.used_at`)
const addTask = traffic(`
  INSERT INTO tasks (account_id, id, client_agent_id, recipient_account_id, recipient_agent_id, recipient_alias,
    message_id, conversation_id, context_id, mode, state, status_at, generation, created_at, expires_at, repeat_hash)
  SELECT account_id, :task, from_agent_id, :toAccount, :to, :alias,
    id, :conversationId, :context, :mode, 'submitted', :at, 1, :at, :expiresAt, :repeatHash
  FROM messages WHERE account_id = :account AND id = :id
  ON CONFLICT DO NOTHING`)
const setRepeatHash = traffic(`
  UPDATE tasks SET repeat_hash = :repeatHash WHERE ${taskEnds.client} AND tasks.id = :task AND ${isOpen} AND ${isSent}`)
const logNew = traffic(`
  INSERT INTO log (kind, subject, home, state, at)
  SELECT 'task', tasks.id, tasks.account_id, tasks.state, tasks.status_at FROM tasks
  WHERE tasks.account_id = :account AND tasks.id = :task
    AND NOT EXISTS (SELECT 1 FROM task_events WHERE ${isOfTask})`)
const addFirstEvent = traffic(`
  INSERT INTO task_events (account_id, task_id, n, id, at, state)
  SELECT account_id, id, 1, :id, :at, 'submitted' FROM tasks WHERE account_id = :account AND id = :task
  ON CONFLICT DO NOTHING`)

const requireNewKey = precondition(isNewKey)
// An update may store no message, so its key is stored with the message that created the task.
const addKey = statement(addingKey(`tasks
  JOIN messages ON messages.account_id = tasks.account_id AND messages.id = tasks.message_id
  WHERE ${taskEnds.recipient} AND tasks.id = :task
    AND (${isOpen} OR EXISTS (SELECT 1 FROM task_events WHERE ${isOfTask} AND ${isEvent}))`))

const statementsAt = (end: string) => ({
  // A retried unit finds its own event, although the task may have ended with it.
  requireOpen: precondition(`
    EXISTS (SELECT 1 FROM tasks WHERE ${end} AND tasks.id = :task AND ${isOpen})
    OR EXISTS (SELECT 1 FROM task_events JOIN tasks ON ${isOfTask} WHERE ${end} AND tasks.id = :task AND ${isEvent})`),
  addMessage: traffic(`
    INSERT INTO task_messages (account_id, task_id, sender_account_id, message_id, role)
    SELECT tasks.account_id, tasks.id, :account, :id, :role FROM tasks WHERE ${end} AND tasks.id = :task AND ${isSent}
    ON CONFLICT DO NOTHING`),
  change: changeTask({
    which: `${end} AND tasks.id = :task AND tasks.state IN (SELECT value FROM json_each(:states))
      AND (:quietSince IS NULL OR ${isQuiet})`,
    event: ':event',
    state: ':state',
    message: ':message',
    reason: ':reason',
    quiet: ':quietSince IS NOT NULL',
  }),
  // Wakes a client that waits for the task, because the task is visible from now on.
  logShown: statement(`
    INSERT INTO log (kind, subject, home) SELECT 'task', tasks.id, tasks.account_id FROM tasks
    WHERE ${end} AND tasks.id = :task AND ${isOpen} AND tasks.mode = 'message'`),
  show: statement(`
    UPDATE tasks SET mode = 'task' WHERE ${end} AND tasks.id = :task AND ${isOpen} AND tasks.mode = 'message'`),
  outcome: statement(`
    SELECT task_events.n FROM tasks JOIN task_events ON ${isOfTask} WHERE ${end} AND tasks.id = :task AND ${isEvent}`),
  // A chunk to append starts the artifact if there are no previous chunks.
  addChunk: statement(`
    INSERT INTO artifacts (account_id, task_id, n, artifact_id, append, last_chunk, name, parts)
    SELECT task_events.account_id, task_events.task_id, task_events.n, :artifact,
      :append AND EXISTS (SELECT 1 FROM artifacts AS before
        WHERE before.account_id = tasks.account_id AND before.task_id = tasks.id
          AND before.artifact_id = :artifact AND before.n < task_events.n),
      :lastChunk, :name, :parts
    FROM tasks JOIN task_events ON ${isOfTask} WHERE ${end} AND tasks.id = :task AND ${isEvent}
    ON CONFLICT DO NOTHING`),
})
const at = {
  client: statementsAt(taskEnds.client),
  recipient: statementsAt(taskEnds.recipient),
  grid: statementsAt('tasks.account_id = :account'),
}

const isCanceled = `EXISTS (
  SELECT 1 FROM tasks JOIN task_events ON ${isOfTask} WHERE ${taskEnds.client} AND tasks.id = :task AND ${isEvent})`
const isSentToRecipient = `deliveries.seq IN (
  SELECT messages.seq FROM task_messages
  JOIN messages ON messages.account_id = :account AND messages.id = task_messages.message_id
  WHERE task_messages.sender_account_id = :account AND task_messages.account_id = :account AND task_messages.task_id = :task AND task_messages.role = 'user')`
const withdraw = statement(`
  UPDATE deliveries SET state = 'withdrawn', read_at = :at
  WHERE ${isSentToRecipient} AND deliveries.state = 'unread' AND ${isCanceled}`)
// Held messages are meant only for the task's recipient. It does not know of them, so it gets no notice.
const withdrawHeld = statement(`
  UPDATE held_messages SET state = 'retracted', decided_at = :at
  WHERE sender_account_id = :account AND state = 'held' AND ${isCanceled} AND message_id IN (
    SELECT task_messages.message_id FROM task_messages
    WHERE task_messages.account_id = :account AND task_messages.task_id = :task AND task_messages.role = 'user')`)
const addNotice = statement(`
  INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, reply_to_message_id,
    conversation_id, created_at, body)
  SELECT tasks.account_id, :id, tasks.client_agent_id, agents.alias, 'system', '@' || tasks.recipient_alias,
    tasks.message_id, tasks.conversation_id, :at, :body
  FROM tasks
  JOIN agents ON agents.account_id = tasks.account_id AND agents.id = tasks.client_agent_id
  JOIN agents AS recipient ON recipient.account_id = tasks.recipient_account_id
    AND recipient.id = tasks.recipient_agent_id AND recipient.deleted_at IS NULL
  WHERE ${taskEnds.client} AND tasks.id = :task AND ${isCanceled}
    AND EXISTS (SELECT 1 FROM deliveries WHERE ${isSentToRecipient} AND deliveries.state = 'read')
  ON CONFLICT DO NOTHING`)
// The notice is never awaited as an answer, because it replies to a message of its own sender.
const deliverNotice = statement(deliver(
  { account: 'tasks.recipient_account_id', agent: 'tasks.recipient_agent_id' },
  `tasks CROSS JOIN messages WHERE ${taskEnds.client} AND tasks.id = :task
    AND messages.account_id = :account AND messages.id = :id`,
  {
    external_id: 'iif(tasks.recipient_account_id = tasks.account_id, NULL, tasks.client_agent_id)',
    task_id: 'tasks.id',
  },
))
const makeDue = statement(makeMessageDue)

/** Makes tasks due whose recipient is in `account` and matches `which`, so that the worker fails them. Both are SQL. */
export function failForDeleted(account: string, which: string): string {
  return `
  UPDATE tasks SET expires_at = 0
  WHERE tasks.recipient_account_id = ${account} AND tasks.expires_at IS NOT NULL AND tasks.recipient_agent_id IN (
    SELECT agents.id FROM agents WHERE agents.account_id = ${account} AND ${which})`
}

export function taskChanges(account: AccountDb) {
  const bound = (changer: TaskChanger): Values => changer.end === 'grid' ? {} : { agent: changer.agent }
  return {
    keepContext: ({ message, recipientAgentId, contextId, conversationId }: NewTask): Statement =>
      account.bind(keepContext, {
        ...{ from: message.from, context: contextId, to: recipientAgentId, conversationId, at: message.at },
      }),
    add: (task: NewTask): Statement[] => {
      const { id, message, home, recipientAgentId, recipientAlias, mode, expiresAt } = task
      return [
        account.bind(addTask, {
          ...{ task: id, id: message.id, toAccount: home ?? account.accountId, to: recipientAgentId },
          ...{ alias: recipientAlias, conversationId: task.conversationId, context: task.contextId, mode },
          ...{ at: message.at, expiresAt, repeatHash: task.repeatHash },
        }),
        account.bind(logNew, { task: id }),
        account.bind(addFirstEvent, { task: id, id: message.id, at: message.at }),
      ]
    },
    /** Stores the repeat hash of a further message from the client. */
    setRepeatHash: (agent: string, task: string, message: string, repeatHash: string | null): Statement =>
      account.bind(setRepeatHash, { agent, task, id: message, repeatHash }),
    requireOpen: (changer: TaskChanger, task: string, event: string): Statement =>
      account.bind(at[changer.end].requireOpen, { ...bound(changer), task, event }),
    addMessage: (changer: TaskChanger, task: string, message: string, role: 'user' | 'agent' | 'result'): Statement =>
      account.bind(at[changer.end].addMessage, { ...bound(changer), task, id: message, role }),
    /** Stores an event and its effects, if the task has not ended and is in one of the initial states. */
    change: (changer: TaskChanger, change: TaskChange): Statement[] => {
      const { task, event, at: time, state, from = openStates, message = null, reason = null, quiet } = change
      const values = {
        ...{ ...bound(changer), task, event, at: time, state, message, reason, states: JSON.stringify(from) },
        quietSince: quiet?.since ?? null,
      }
      return at[changer.end].change.map((statement) => account.bind(statement, values))
    },
    /** Sets the tasks of messages that the agent has read to `working`, if they were not. */
    read: (agent: string, messages: readonly string[], at: number): Statement[] =>
      readTasks.map((statement) => account.bind(statement, { agent, messages: JSON.stringify(messages), at })),
    /** Shows the client the task itself instead of only a plain reply, unless the task has ended. */
    show: (changer: TaskChanger, task: string): Statement[] =>
      [at[changer.end].logShown, at[changer.end].show].map((one) => account.bind(one, { ...bound(changer), task })),
    addChunk: (changer: TaskChanger, chunk: NewChunk): Statement => {
      const { task, event, artifactId, append, lastChunk, name, parts } = chunk
      return account.bind(at[changer.end].addChunk, {
        ...{ ...bound(changer), task, event, artifact: artifactId, append },
        ...{ lastChunk, name, parts },
      })
    },
    requireNewKey: (recipient: string, { key, keysSince }: UpdateKey): Statement =>
      account.bind(requireNewKey, { from: recipient, key, keysSince }),
    /** Stores an update's key after its `event`. Does nothing if the task had ended before the event. */
    addKey: (recipient: string, task: string, event: string, key: UpdateKey): Statement =>
      account.bind(addKey, { ...key, agent: recipient, from: recipient, task, event }),
    /** Returns the column `n` of an event; no row if it was not stored. */
    outcome: (changer: TaskChanger, task: string, event: string): Statement => ({
      ...account.bind(at[changer.end].outcome, { ...bound(changer), task, event }),
      rows: 0,
    }),
    /** For an event that cancels a task: withdraws unread messages, and notifies the recipient if it has read one. */
    withdraw: (agent: string, task: string, event: string, notice: { id: string; body: string; at: number }) => [
      account.bind(withdraw, { agent, task, event, at: notice.at }),
      account.bind(withdrawHeld, { agent, task, event, at: notice.at }),
      account.bind(addNotice, { agent, task, event, ...notice }),
      account.bind(deliverNotice, { agent, task, id: notice.id, at: notice.at, chars: notice.body.length }),
      account.bind(makeDue, { id: notice.id }),
    ],
  }
}
