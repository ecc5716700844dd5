/** Tasks as an account's people see them: on messages, in a list, and tasks that need attention. */
import { type AccountDb, json, query } from '../sql.ts'
import type { TaskState } from './task-ends.ts'

/** A task's state. `reason` is the grid's explanation, or null. Times are milliseconds since the epoch. */
export interface TaskStep {
  state: TaskState
  at: number
  reason: string | null
}

/** The task that a message belongs to. */
interface TaskOfMessage {
  seq: number
  state: TaskState
  /** 1 for the message that started the task. */
  isFirst: number
  steps: TaskStep[]
}

export interface SeenTask {
  id: string
  seq: number
  /** The conversation of its first message; null until it is assigned. */
  threadId: number | null
  state: TaskState
  createdAt: number
  statusAt: number
  /** The time of its last event, if its recipient has been silent since then for a long time. */
  quietSince: number | null
  clientAgentId: string
  client: string
  recipientAgentId: string
  recipient: string
  /** The beginning of the first message's text. */
  text: string
  /** The reason for a failure or a wait: the grid's explanation, or the beginning of the recipient's text. */
  why: string | null
}

// A message that is answered immediately is not shown as a task. A task between two accounts is visible in both.
const isSeen = [
  `tasks.mode = 'task' AND tasks.account_id = :account`,
  `tasks.mode = 'task' AND tasks.recipient_account_id = :account AND tasks.account_id <> :account`,
]
const steps = `(
    SELECT json_group_array(json_object('state', steps.state, 'at', steps.at, 'reason', steps.reason)) FROM (
      SELECT task_events.state, task_events.at, task_events.reason FROM task_events
      WHERE task_events.account_id = tasks.account_id AND task_events.task_id = tasks.id
        AND task_events.state IS NOT NULL
      ORDER BY task_events.n DESC LIMIT 20) AS steps)`
const ofMessages = query<TaskOfMessage>(
  isSeen.map((isSeen) => `
  SELECT listed.value AS seq, tasks.state, tasks.message_id = messages.id AS is_first, ${steps} AS steps
  FROM json_each(:seqs) AS listed CROSS JOIN messages CROSS JOIN task_messages CROSS JOIN tasks
  WHERE messages.seq = listed.value AND task_messages.sender_account_id = messages.account_id
    AND task_messages.message_id = messages.id AND tasks.account_id = task_messages.account_id
    AND tasks.id = task_messages.task_id AND ${isSeen}`).join(' UNION ALL '),
  { steps: json },
)
const isQuietNow = `tasks.quiet AND tasks.state = 'working'`
const before = `(SELECT max(earlier.at) FROM task_events AS earlier
  WHERE earlier.account_id = tasks.account_id AND earlier.task_id = tasks.id AND earlier.n = tasks.generation - 1)`
// If the recipient's text belongs to another account, only the grid's explanation is shown.
const why = `(
    SELECT coalesce(latest.reason, substr(said.body, 1, 400)) FROM task_events AS latest
    LEFT JOIN messages AS said ON said.account_id = :account AND latest.sender_account_id = :account
      AND said.id = latest.message_id
    WHERE latest.account_id = tasks.account_id AND latest.task_id = tasks.id AND latest.state = tasks.state
    ORDER BY latest.n DESC LIMIT 1)`
const needy = `'failed', 'rejected', 'input-required', 'auth-required'`
const listed = (total: string) => `
  SELECT *${total} FROM (${
  isSeen.map((isSeen) => `
    SELECT tasks.id, messages.seq, (SELECT place.thread_id FROM thread_messages AS place
      WHERE place.account_id = :account AND place.seq = messages.seq) AS thread_id, tasks.state, tasks.created_at, tasks.status_at,
      iif(${isQuietNow}, ${before}, NULL) AS quiet_since, tasks.client_agent_id,
      messages.from_alias AS client, tasks.recipient_agent_id, tasks.recipient_alias AS recipient,
      substr(messages.body, 1, 400) AS text, iif(tasks.state IN (${needy}), ${why}, NULL) AS why
    FROM tasks JOIN messages ON messages.account_id = tasks.account_id AND messages.id = tasks.message_id
      AND messages.seq > 0
    WHERE ${isSeen} AND (:states IS NULL OR tasks.state IN (SELECT value FROM json_each(:states)) OR :quiet AND ${isQuietNow})
      AND (:agent IS NULL OR :agent IN (tasks.client_agent_id, tasks.recipient_agent_id)) AND tasks.status_at >= :since`)
    .join(' UNION ALL ')
})
  ORDER BY status_at DESC, id DESC LIMIT :limit OFFSET :offset`
const list = query<SeenTask>(listed(''))
const listCounted = query<SeenTask & { total: number }>(listed(', count(*) OVER () AS total'))

export const seenTasks = {
  reads: (account: AccountDb) => ({
    ofMessages: (seqs: number[]) => account.all(ofMessages, { seqs: JSON.stringify(seqs) }),
    /** The most recently changed tasks of the account or of one agent, in one of these states. Null: in any state. */
    list: (states: readonly TaskState[] | null, agent: string | null, limit: number, offset: number) =>
      account.all(list, { states: states && JSON.stringify(states), agent, quiet: false, since: 0, limit, offset }),
    /** Tasks changed since `since` in one of these states or with a silent recipient. `total` is their number. */
    needy: (states: readonly TaskState[], since: number, limit: number) =>
      account.all(listCounted, { states: JSON.stringify(states), agent: null, quiet: true, since, limit, offset: 0 }),
  }),
  changes: () => ({}),
}
