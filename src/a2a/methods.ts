/** All A2A operations, with their method names in each version. See docs/protocol/a2a.md, "A2A". */
import { codec03 } from './codec-03.ts'
import { codec10 } from './codec-10.ts'
import type { Codec } from './codec.ts'
import { endpointAlias } from './grid-routing.ts'
import { messageSend, messageStream } from './message-send.ts'
import type { MethodCall } from './method-call.ts'
import { ParamReader } from './param-reader.ts'
import { pushConfigDelete, pushConfigGet, pushConfigList, pushConfigSet } from './push-methods.ts'
import { tasksCancel, tasksGet, tasksList, tasksSubscribe } from './task-methods.ts'
import type { AdmittedCall } from './request.ts'
import { GridError } from '../errors.ts'
import type { AccountStore } from '../store/account.ts'

/** Resolves to the `result` in the wire format of the call's version, or to an `EventStream`. */
type Operation = (call: MethodCall) => unknown

const operations: [method03: string, method10: string, Operation][] = [
  ['message/send', 'SendMessage', messageSend],
  ['message/stream', 'SendStreamingMessage', messageStream],
  ['tasks/get', 'GetTask', tasksGet],
  ['tasks/list', 'ListTasks', tasksList],
  ['tasks/cancel', 'CancelTask', tasksCancel],
  ['tasks/resubscribe', 'SubscribeToTask', tasksSubscribe],
  ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig', pushConfigSet],
  ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig', pushConfigGet],
  ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs', pushConfigList],
  ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig', pushConfigDelete],
  ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard', extendedCard],
]

const methods = new Map(operations.flatMap(([method03, method10, run]) => [
  [method03, { codec: codec03, run }],
  [method10, { codec: codec10, run }],
]))

const streams: Operation[] = [messageStream, tasksSubscribe]

/** Runs an operation for a caller. A streaming operation starts only after the caller has been looked up. */
export async function runMethod(
  run: Operation,
  { caller, serve, ...admitted }: AdmittedCall,
  call: Pick<MethodCall, 'cards' | 'codec' | 'method' | 'params'>,
): Promise<unknown> {
  const runFor = async (account: AccountStore) => await run({ ...admitted, ...call, account })
  return streams.includes(run) ? await runFor(await caller()) : await serve(runFor)
}

/** Returns a method's operation and its version's codec. Fails with `unknown_method`. */
export function findMethod(name: string): { codec: Codec; run: Operation } {
  const method = methods.get(name)
  if (method) return method
  const message = 'Unknown A2A method. Send with message/send (0.3) or SendMessage (1.0).'
  throw new GridError('unknown_method', message, { field: 'method' })
}

/** Fails with `invalid_input` or `agent_not_found`. */
function extendedCard({ account, aliases, codec, params, cards }: MethodCall): Promise<unknown> {
  const tenant = new ParamReader(params ?? {}, '').id('tenant')
  return cards.extendedCard(account, codec.version, endpointAlias(aliases, tenant))
}
