/** What the client of a task can do with it: look at it, list its tasks, cancel it. See docs/protocol.md, "Tasks". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Task, TaskState } from './task.ts'

/** `recipient`: the alias that the endpoint is for. Tasks with another recipient look missing. */
export interface TaskScope {
  recipient?: string
}

export interface TaskListInput extends TaskScope {
  contextId?: string
  state?: TaskState
  /** 1 to 100. */
  pageSize: number
  pageToken?: string
  historyLength?: number
  /** Only tasks whose status changed at this time or later, in milliseconds since the epoch. */
  since?: number
  includeArtifacts?: boolean
}

export interface TaskPage {
  tasks: Task[]
  /** Empty on the last page. */
  nextPageToken: string
  pageSize: number
  /** How many tasks the list has on all pages. */
  totalSize: number
}

/** A task of the calling agent. `historyLength`: only so many of its newest messages. Fails with `task_not_found`. */
export function getTask(
  _account: AccountStore,
  _id: string,
  _scope: TaskScope & { historyLength?: number } = {},
): Promise<Task> {
  throw new GridError('internal', 'Not there yet.')
}

/**
 * The tasks of the calling agent, by the time of their status, newest first. Artifacts are left out unless asked for.
 * Fails with `invalid_input` (page size, page token).
 */
export function listTasks(_account: AccountStore, _input: TaskListInput): Promise<TaskPage> {
  throw new GridError('internal', 'Not there yet.')
}

/**
 * Cancel a task of the calling agent. A message that nobody has read is withdrawn; a recipient that has read it finds a
 * notice in its inbox. Fails with `task_not_found`, and with `task_not_cancelable` if the task has ended.
 */
export function cancelTask(
  _account: AccountStore,
  _id: string,
  _scope: TaskScope & { metadata?: Record<string, unknown> } = {},
): Promise<Task> {
  throw new GridError('internal', 'Not there yet.')
}
