/** Following a task: waiting for its answer, and its events one by one. See docs/delivery.md, "Tasks". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Task, TaskEvent } from './task.ts'
import type { TaskScope } from './tasks.ts'

interface TaskListener {
  /** Its signal is aborted when the listener disconnects. Its slot is released by a wait. */
  connection?: { readonly signal: AbortSignal; releaseSlot?(): void }
  /** Fails when the credential has ended. Called before what is told after a wait. */
  check?(): Promise<unknown>
}

export interface TaskWait extends TaskListener, TaskScope {
  /** How long at most, in milliseconds. */
  ms: number
  /** Also wait if the recipient is not connected. */
  strict: boolean
}

export interface TaskWatch extends TaskListener, TaskScope {
  /** Only the events after this number, without the task first. */
  after?: number
  /** Whether the stream also ends when the task waits for its client. */
  endsWhenInterrupted: boolean
  /** How long the stream may be silent, in milliseconds. */
  heartbeatMs: number
}

/** What a stream of a task tells: the task as it is, an event after that, or that the stream is alive. */
export type TaskNews = { first: Task } | TaskEvent | 'heartbeat'

/**
 * The task once it has ended or waits for its client, or as it is when the time is over. At once if the recipient is not
 * connected, unless `strict`. Fails with `task_not_found`.
 */
export function waitForTask(_account: AccountStore, _id: string, _wait: TaskWait): Promise<Task> {
  throw new GridError('internal', 'Not there yet.')
}

/**
 * The task and then its events, until it has ended, at most 15 minutes. Ends when the process stops, the credential ends
 * or the listener disconnects, without touching the task.
 *
 * Fails with `task_not_found`; with `unsupported_operation` if the task has ended, unless `after` is given; with
 * `rate_limit_exceeded` if the credential has too many streams of tasks. These come before the first value.
 */
export function watchTask(_account: AccountStore, _id: string, _watch: TaskWatch): AsyncGenerator<TaskNews> {
  throw new GridError('internal', 'Not there yet.')
}
