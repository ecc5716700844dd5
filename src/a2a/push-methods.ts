/** Push configuration methods of tasks, in both versions. See docs/protocol/a2a.md, "Push notifications". */
import { GridError } from '../errors.ts'
import { deletePushConfig, listPushConfigs, setPushConfig } from '../grid/tasks/push-configs.ts'
import type { MethodCall } from './method-call.ts'
import { ParamReader } from './param-reader.ts'
import { defaultId03, readPushConfig, writePushConfig } from './push-config.ts'
import { scopeOf } from './task-methods.ts'

/** `tasks/pushNotificationConfig/set`, `CreateTaskPushNotificationConfig`. Fails with `invalid_input` or `task_not_found`. */
export async function pushConfigSet(call: MethodCall): Promise<unknown> {
  const { account, codec: { version } } = call
  const params = new ParamReader(call.params, '')
  const taskId = params.requiredId('taskId')
  const input = readPushConfig(version === '0.3' ? params.requiredObject('pushNotificationConfig') : params, version)
  return writePushConfig(await setPushConfig(account, taskId, input, scopeOf(call, params).recipient), version)
}

/** `tasks/pushNotificationConfig/get`, `GetTaskPushNotificationConfig`. Fails with `invalid_input` or `task_not_found`. */
export async function pushConfigGet(call: MethodCall): Promise<unknown> {
  const { params, taskId, id } = named(call)
  const configs = await listPushConfigs(call.account, taskId, scopeOf(call, params).recipient)
  // In 0.3, the id is optional.
  const found = configs.find(({ configId }) => configId === (id ?? defaultId03)) ?? (id === undefined && configs[0])
  if (!found) {
    throw new GridError('task_not_found', 'The task has no push configuration with this id.', { info: { taskId } })
  }
  return writePushConfig(found, call.codec.version)
}

/**
 * `tasks/pushNotificationConfig/list`, `ListTaskPushNotificationConfigs`. Returns all configurations on one page. Fails
 * like the methods above.
 */
export async function pushConfigList(call: MethodCall): Promise<unknown> {
  const { version } = call.codec
  const params = new ParamReader(call.params, '')
  const taskId = params.requiredId(version === '0.3' ? 'id' : 'taskId')
  const configs = (await listPushConfigs(call.account, taskId, scopeOf(call, params).recipient))
    .map((config) => writePushConfig(config, version))
  if (version === '0.3') return configs
  return configs.length > 0 ? { configs } : {}
}

/**
 * `tasks/pushNotificationConfig/delete`, `DeleteTaskPushNotificationConfig`. Idempotent. Fails like the methods above.
 */
export async function pushConfigDelete(call: MethodCall): Promise<unknown> {
  const { params, taskId, id } = named(call)
  if (id === undefined) throw params.invalid('pushNotificationConfigId', 'must be a non-empty string')
  await deletePushConfig(call.account, taskId, id, scopeOf(call, params).recipient)
  return call.codec.version === '0.3' ? null : {}
}

/** Returns the target of a call. The configuration's id is optional in 0.3 only. */
function named(call: MethodCall): { params: ParamReader; taskId: string; id: string | undefined } {
  const params = new ParamReader(call.params, '')
  return call.codec.version === '0.3'
    ? { params, taskId: params.requiredId('id'), id: params.id('pushNotificationConfigId') }
    : { params, taskId: params.requiredId('taskId'), id: params.requiredId('id') }
}
