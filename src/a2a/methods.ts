/** Every A2A operation, with its method name in each version. See docs/protocol.md, "A2A methods". */
import { GridError } from '../errors.ts'
import { codec03 } from './codec-03.ts'
import { codec10 } from './codec-10.ts'
import type { Codec } from './codec.ts'
import { pushNotSupported } from './errors.ts'
import { extendedCard } from './extended-card.ts'
import { messageSend } from './message-send.ts'
import type { MethodCall } from './method-call.ts'

/** Carries out a call; resolves to its `result`, in the wire format of the call's version. */
type Operation = (call: MethodCall) => unknown

const operations: [method03: string, method10: string, Operation][] = [
  ['message/send', 'SendMessage', messageSend],
  ['message/stream', 'SendStreamingMessage', refuseUnsupported],
  ['tasks/get', 'GetTask', refuseUnsupported],
  ['tasks/list', 'ListTasks', refuseUnsupported],
  ['tasks/cancel', 'CancelTask', refuseUnsupported],
  ['tasks/resubscribe', 'SubscribeToTask', refuseUnsupported],
  ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig', refusePush],
  ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig', refusePush],
  ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs', refusePush],
  ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig', refusePush],
  ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard', extendedCard],
]

const methods = new Map(operations.flatMap(([method03, method10, run]) => [
  [method03, { codec: codec03, run }],
  [method10, { codec: codec10, run }],
]))

/** The operation of a method and the codec of its version. Fails with `unknown_method`. */
export function findMethod(name: string): { codec: Codec; run: Operation } {
  const method = methods.get(name)
  if (method) return method
  const message = 'Unknown A2A method. Send with message/send (0.3) or SendMessage (1.0).'
  throw new GridError('unknown_method', message, { field: 'method' })
}

function refuseUnsupported({ method, codec }: MethodCall): never {
  const send = codec === codec03 ? 'message/send' : 'SendMessage'
  throw new GridError(
    'unsupported_operation',
    `${method} is not supported. ${send} answers at once with a message that confirms delivery, and creates no task.`,
  )
}

function refusePush(): never {
  throw pushNotSupported()
}
