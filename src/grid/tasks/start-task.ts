/** Messages of a client that make a task, or continue one. See docs/protocol.md, "Tasks". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Sender, SentMessage } from '../messaging/outgoing-message.ts'
import type { Task, TaskMessage, TaskMode } from './task.ts'

/** A message of a client, as it was received. */
export type ClientMessage = Omit<TaskMessage, 'role'>

export interface NewTask {
  /** `@alias`. */
  to: string
  message: ClientMessage
  /** What the client calls the context; without it the context has an id of the server. */
  contextId?: string
  mode: TaskMode
  idempotencyKey?: string
  /** The request that a repeat with the same key must equal. */
  request?: string
  acceptedOutputModes?: string[]
}

export interface TaskContinuation {
  taskId: string
  /** Must be that of the task. */
  contextId?: string
  /** The alias that the endpoint is for: tasks with another recipient look missing. */
  recipient?: string
  message: ClientMessage
  idempotencyKey?: string
  request?: string
}

/** A message that is on disk, and its task. */
export interface SentTask {
  sent: SentMessage
  task: Task
}

/**
 * Send a message that makes a task. The message, the task and its first event are stored in one unit. A repeat under the
 * same idempotency key returns the task of the first send, as it is now.
 *
 * Fails as `sendMessage` does.
 */
export function startTask(_account: AccountStore, _sender: Sender, _task: NewTask): Promise<SentTask> {
  throw new GridError('internal', 'Not there yet.')
}

/**
 * Send a further message of a task to its recipient. A task that waits for its client goes on.
 *
 * Fails with `task_not_found`; with `invalid_input` for another context; with `unsupported_operation` if the task is in
 * a terminal state; or as `sendMessage` does.
 */
export function continueTask(_account: AccountStore, _sender: Sender, _more: TaskContinuation): Promise<SentTask> {
  throw new GridError('internal', 'Not there yet.')
}
