/** What the client of a task can do with it: look at it, list its tasks, cancel it. See docs/protocol/messages.md. */
import { Buffer } from 'node:buffer'
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import type { AccountStore } from '../../store/account.ts'
import type { TaskEnd } from '../../store/account/task-ends.ts'
import type { TaskFilter, TaskRow } from '../../store/account/tasks.ts'
import { shownTasks, type Viewer } from './shown-task.ts'
import { isTerminal, type Task, type TaskState } from './task.ts'

/** `recipient`: the alias that the endpoint is for. Tasks with another recipient look missing. */
export interface TaskScope {
  recipient?: string
}

interface TaskListInput extends TaskScope {
  contextId?: string
  state?: TaskState
  pageSize: number
  pageToken?: string
  historyLength?: number
  /** Only tasks whose status changed at this time or later, in milliseconds since the epoch. */
  since?: number
  includeArtifacts?: boolean
}

export interface TaskPage {
  tasks: Task[]
  nextPageToken: string
  pageSize: number
  totalSize: number
}

/** A page with more content ends early: libsql-server returns at most 10 MB from one statement. */
const maxPageBytes = 8 * 2 ** 20

/** A task of the calling agent. `historyLength`: only so many of its newest messages. Fails with `task_not_found`. */
export async function getTask(
  account: AccountStore,
  id: string,
  { recipient, historyLength }: TaskScope & { historyLength?: number } = {},
): Promise<Task> {
  const row = await findTask(account, id, recipient)
  return (await shownTasks(clientOf(account), [row], { historyLength, withArtifacts: true }))[0]
}

export async function listTasks(account: AccountStore, input: TaskListInput): Promise<TaskPage> {
  const { pageSize, pageToken, historyLength, includeArtifacts = false } = input
  const filter: TaskFilter = {
    contextId: input.contextId ?? null,
    state: input.state ?? null,
    recipient: input.recipient ?? null,
    since: input.since ?? null,
  }
  const ofList = hashForLookup(JSON.stringify(filter)).slice(0, 16)
  const before = pageToken ? positionIn(pageToken, ofList) : { at: Number.MAX_SAFE_INTEGER, id: '' }
  const viewer = clientOf(account)
  const { tasks } = account.read
  const [found, totalSize] = await Promise.all([
    tasks.list(viewer.agentId, filter, before, pageSize + 1),
    tasks.count(viewer.agentId, filter),
  ])
  const rows = await firstThatFit(viewer, found.slice(0, pageSize))
  const shown = await shownTasks(viewer, rows, { historyLength, withArtifacts: includeArtifacts })
  const last = found.length > rows.length ? rows.at(-1) : undefined
  return { tasks: shown, nextPageToken: last ? tokenOf(last, ofList) : '', pageSize, totalSize }
}

/** Cancel a task of the calling agent. An unread message is withdrawn; a recipient that has read it is told. */
export async function cancelTask(
  account: AccountStore,
  id: string,
  { recipient }: TaskScope & { metadata?: Record<string, unknown> } = {},
): Promise<Task> {
  const task = await findTask(account, id, recipient)
  if (task.expiresAt === null) throw notCancelable(task)
  const { agentId, alias } = callingAgent(account.actor)
  const changer = { end: 'client' as const, agent: agentId }
  const { tasks } = account.change
  const at = account.deps.now()
  const event = newId()
  const notice = { id: newId(), at, body: `@${alias} canceled task ${id}. It expects no answer any more.` }
  const rows = await account.write([
    ...tasks.change(changer, { task: id, event, at, state: 'canceled' }),
    ...tasks.withdraw(agentId, id, event, notice),
    tasks.outcome(changer, id, event),
  ])
  if (rows.at(-1)!.length === 0) throw notCancelable(await findTask(account, id, recipient))
  const { notifier } = account.waiting
  notifier.notify([task.recipientAgentId])
  notifier.wake([id])
  return await getTask(account, id, { recipient })
}

async function firstThatFit({ account, end, agentId }: Viewer, rows: TaskRow[]): Promise<TaskRow[]> {
  if (rows.length < 2) return rows
  const sizes = await account.read.tasks.bytes(end, agentId, rows.map(({ id }) => id))
  let left = maxPageBytes
  const over = rows.findIndex(({ id }) => (left -= sizes.get(id) ?? 0) < 0)
  return over < 0 ? rows : rows.slice(0, Math.max(over, 1))
}

/** From now on the client gets the task, and not the plain reply of its recipient. */
export async function showTask(account: AccountStore, id: string, end: TaskEnd): Promise<void> {
  const { agentId: agent } = callingAgent(account.actor)
  await account.write([account.change.tasks.show({ end, agent }, id)])
}

/** What the client of a task gets after a wait: the task, or the plain reply that ended it (`bareReply`). */
export async function answerFor(account: AccountStore, task: Task): Promise<Task> {
  if (task.mode !== 'message' || isTerminal(task.status.state)) return task
  await showTask(account, task.id, 'client')
  // It may have been answered, or updated, at the same time.
  return await getTask(account, task.id)
}

export async function findTask(account: AccountStore, id: string, recipient?: string): Promise<TaskRow> {
  const { agentId } = callingAgent(account.actor)
  const row = await account.read.tasks.of('client', agentId, id)
  if (!row || (recipient !== undefined && row.recipientAlias !== recipient)) throw taskNotFound(id)
  return row
}

export function clientOf(account: AccountStore): Viewer {
  return { account, end: 'client', agentId: callingAgent(account.actor).agentId }
}

export function taskNotFound(taskId: string): GridError {
  return new GridError('task_not_found', 'You have no task with this id.', { info: { taskId } })
}

export function taskHasEnded({ id, state }: Pick<TaskRow, 'id' | 'state'>): GridError {
  const message = `The task has ended: it is ${state}. Begin a new one.`
  return new GridError('unsupported_operation', message, { info: { taskId: id } })
}

function notCancelable({ id, state }: TaskRow): GridError {
  return new GridError('task_not_cancelable', `The task has ended already: it is ${state}.`, { info: { taskId: id } })
}

function tokenOf({ statusAt, id }: TaskRow, ofList: string): string {
  return Buffer.from(JSON.stringify([statusAt, id, ofList])).toString('base64url')
}

function positionIn(token: string, ofList: string): { at: number; id: string } {
  try {
    const [at, id, list] = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[]
    if (Number.isSafeInteger(at) && typeof id === 'string' && list === ofList) return { at: at as number, id }
  } catch {
    // Not one of ours.
  }
  throw invalidInput('This pageToken is not valid for this list.', 'pageToken')
}
