/** Every A2A operation in both spellings. The method name decides the version of the wire. a2a.md, section 5. */
import { GridError } from '../errors.ts'
import type { AccountStore } from '../store/account.ts'
import { codec03 } from './codec-03.ts'
import { codec10 } from './codec-10.ts'
import type { Codec } from './codec.ts'
import { pushNotSupported } from './faults.ts'
import { messageSend } from './message-send.ts'

/** One request, past the frame. `params` is unread. */
export interface Call {
  account: AccountStore
  codec: Codec
  method: string
  params: unknown
  /** The `Idempotency-Key` header. */
  idempotencyKey: string | undefined
}

/** Carries out a call; resolves to its `result` in the call's version. */
type Operation = (call: Call) => unknown

const operations: [in03: string, in10: string, Operation][] = [
  ['message/send', 'SendMessage', messageSend],
  ['message/stream', 'SendStreamingMessage', notOffered],
  ['tasks/get', 'GetTask', notOffered],
  ['tasks/list', 'ListTasks', notOffered],
  ['tasks/cancel', 'CancelTask', notOffered],
  ['tasks/resubscribe', 'SubscribeToTask', notOffered],
  ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig', withoutPush],
  ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig', withoutPush],
  ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs', withoutPush],
  ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig', withoutPush],
  ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard', notOffered],
]

const methods = new Map(operations.flatMap(([in03, in10, run]) => [
  [in03, { codec: codec03, run }],
  [in10, { codec: codec10, run }],
]))

/** Fails with `unknown_method`. */
export function findMethod(name: string): { codec: Codec; run: Operation } {
  const method = methods.get(name)
  if (method) return method
  const message = 'This is no method of A2A. Send with message/send (0.3) or SendMessage (1.0).'
  throw new GridError('unknown_method', message, { field: 'method' })
}

function notOffered({ method, codec }: Call): never {
  const send = codec === codec03 ? 'message/send' : 'SendMessage'
  throw new GridError(
    'unsupported_operation',
    `${method} is not offered. ${send} answers at once with a message that confirms delivery, and makes no task.`,
  )
}

function withoutPush(): never {
  throw pushNotSupported()
}
