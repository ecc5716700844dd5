/** Refusals that several operations share. */
import { GridError } from '../errors.ts'

/** A task that does not exist and one of another caller are answered alike. */
export function taskNotFound(taskId: string): GridError {
  return new GridError('task_not_found', 'No task of yours has this id.', { info: { taskId } })
}

export function pushNotSupported(): GridError {
  return new GridError('push_not_supported', 'Push notifications are not offered. Send without a push configuration.')
}
