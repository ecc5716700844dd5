/** What the recipient of a task says about it. See docs/protocol.md, "`update_task`". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Part, Task, TaskState } from './task.ts'

export interface TaskUpdate {
  /** One of both: the id of the task, or of a message of it that the caller received. */
  taskId?: string
  messageId?: string
  /** Any but `submitted` and `canceled`. */
  state?: TaskState
  text?: string
  parts?: Part[]
  artifact?: { id: string; name?: string; append?: boolean; lastChunk?: boolean }
}

/**
 * Change a task whose recipient is the calling agent. Content without a state or an artifact is the answer: it becomes
 * an artifact, and the task is completed.
 *
 * Fails with `task_not_found`; with `unsupported_operation` if the task has ended; and with `invalid_input`.
 */
export function updateTask(_account: AccountStore, _update: TaskUpdate): Promise<Task> {
  throw new GridError('internal', 'Not there yet.')
}
