/** Errors that several operations share. */
import { GridError } from '../errors.ts'

/** A suite of A2A looks for the words "not supported". */
export function pushNotSupported(): GridError {
  return new GridError('push_not_supported', 'Push notifications are not supported. Send without a push configuration.')
}
