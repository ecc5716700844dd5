/** Errors that several operations share. */
import { GridError } from '../errors.ts'

/** There are no tasks, so every task id is unknown. */
export function taskNotFound(taskId: string): GridError {
  return new GridError('task_not_found', 'No task of yours has this id.', { info: { taskId } })
}

export function pushNotSupported(): GridError {
  return new GridError('push_not_supported', 'Push notifications are not supported. Send without a push configuration.')
}
