/** A client's operations on its tasks, in both versions. See docs/protocol/a2a.md, "Tasks". */
import { roomOf } from '../answers/room.ts'
import { GridError } from '../errors.ts'
import { isTerminal, type TaskState } from '../grid/tasks/task.ts'
import { cancelTask, findTask, getTask, listTasks } from '../grid/tasks/tasks.ts'
import { requireTaskStream, watchTask } from '../grid/tasks/watch-task.ts'
import { stateOf10 } from './codec-10.ts'
import { writeTask } from './codec.ts'
import { endpointAlias } from './grid-routing.ts'
import { EventStream, type MethodCall } from './method-call.ts'
import { ParamReader } from './param-reader.ts'
import { heartbeatMs, taskItems } from './task-stream.ts'

/** The states in numeric order, starting at 1. @see a2a.proto, `TaskState` */
const numberedStates: readonly TaskState[] = [
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
]
const states: ReadonlyMap<string, TaskState> = new Map(
  numberedStates.flatMap((state, n) => [[state, state], [stateOf10(state), state], [String(n + 1), state]] as const),
)

/** `tasks/get`, `GetTask`. Fails with `invalid_input` or `task_not_found`. */
export async function tasksGet(call: MethodCall): Promise<unknown> {
  const params = new ParamReader(call.params, '')
  const id = params.requiredId('id')
  const historyLength = params.count('historyLength')
  return writeTask(await getTask(call.account, id, { ...scopeOf(call, params), historyLength }), call.codec)
}

/** `tasks/list`, `ListTasks`. Returns the caller's tasks, newest status first. Fails with `invalid_input`. */
export async function tasksList(call: MethodCall): Promise<unknown> {
  const params = new ParamReader(call.params ?? {}, '')
  const pageSize = params.count('pageSize', { min: 1, max: 100 }) ?? 50
  const includeArtifacts = params.flag('includeArtifacts') ?? false
  const { tasks, ...page } = await listTasks(call.account, {
    ...scopeOf(call, params),
    contextId: params.id('contextId'),
    state: readState(params),
    pageSize,
    pageToken: params.text('pageToken'),
    historyLength: params.count('historyLength'),
    since: params.time('statusTimestampAfter'),
    includeArtifacts,
  })
  return { tasks: tasks.map((task) => writeTask(task, call.codec)), ...page }
}

/** `tasks/cancel`, `CancelTask`. Fails with `invalid_input`, `task_not_found` or `task_not_cancelable`. */
export async function tasksCancel(call: MethodCall): Promise<unknown> {
  const params = new ParamReader(call.params, '')
  const id = params.requiredId('id')
  // Unused, but still validated.
  params.record('metadata')
  return writeTask(await cancelTask(call.account, id, scopeOf(call, params)), call.codec)
}

/**
 * `tasks/resubscribe`, `SubscribeToTask`. Streams the task and its further events. With `Last-Event-ID`, streams only
 * the events after that one. Fails with `invalid_input`, `task_not_found`, `rate_limit_exceeded`, or
 * `unsupported_operation` if the task has ended and the client has received its last event.
 */
export async function tasksSubscribe(call: MethodCall): Promise<EventStream> {
  const { account, connection, check } = call
  const params = new ParamReader(call.params, '')
  const id = params.requiredId('id')
  const { recipient } = scopeOf(call, params)
  const task = await findTask(account, id, recipient)
  const hasEnded = isTerminal(task.state)
  const lastEventId = call.lastEventId !== undefined && call.lastEventId <= task.generation
    ? call.lastEventId
    : undefined
  if (hasEnded && (lastEventId === undefined || lastEventId === task.generation)) {
    throw new GridError(
      'unsupported_operation',
      `The task is in a terminal state: ${task.state}. Read it with tasks/get (0.3) or GetTask (1.0).`,
    )
  }
  requireTaskStream(account)
  const news = watchTask(account, id, {
    recipient,
    after: lastEventId,
    caller: connection,
    check,
    heartbeatMs,
  })
  // Reads the task first, so that errors are reported before the stream begins.
  const first = lastEventId === undefined ? (await news.next()).value : undefined
  return new EventStream(taskItems(call, { id, contextId: task.contextId }, first, news))
}

/** Returns which tasks an endpoint shows: all of the caller's, or those with the agent named in the path or tenant. */
export function scopeOf({ account, aliases, connection }: MethodCall, params: ParamReader) {
  return { recipient: endpointAlias(aliases, params.id('tenant')), room: roomOf(account, connection) }
}

/** Accepts the spelling of both versions. */
function readState(params: ParamReader): TaskState | undefined {
  return params.oneOf('status', states, 'must be a state of a task')
}
