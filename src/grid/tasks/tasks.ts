/** The client's operations on its tasks: get, list and cancel. See docs/protocol/messages.md. */
import { Buffer } from 'node:buffer'
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { digestOf } from '../../lib/digest.ts'
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { TaskEnd } from '../../store/account/task-ends.ts'
import type { TaskFilter, TaskRow } from '../../store/account/tasks.ts'
import { type AnswerRoom, answerRoom } from '../answer-room.ts'
import { shownTasks, type Viewer } from './shown-task.ts'
import type { Task, TaskState } from './task.ts'

/** `recipient`: the endpoint's alias. Tasks with any other recipient appear as missing. */
export interface TaskScope {
  recipient?: string
}

/** Options for reading a task. */
export interface TaskRead extends TaskScope {
  /** Limits the history to this many of the newest messages. */
  historyLength?: number
  /** Where the response reserves memory. */
  room?: AnswerRoom
  /** Whether to wait for memory, because the call has already changed something. */
  waits?: boolean
  /** The calling agent's earlier account, which the task belongs to. */
  home?: string
}

interface TaskListInput extends TaskScope {
  room?: AnswerRoom
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

/** Maximum size of a task or a page of tasks: libsql-server returns at most 10 MB from one statement. */
export const maxTaskBytes = 8 * 2 ** 20

/**
 * Returns one of the calling agent's tasks. Fails with `task_not_found`, or with `rate_limit_exceeded` if there is no
 * memory for it.
 */
export async function getTask(
  account: AccountStore,
  id: string,
  { recipient, historyLength, room = answerRoom(account), waits, home }: TaskRead = {},
): Promise<Task> {
  const row = await findTask(account, id, recipient, home)
  const viewer = clientOf(account, home)
  const make = async () => (await shownTasks(viewer, [row], { historyLength, withArtifacts: true }))[0]
  return await room(bytesOf([row]), make, { waits })
}

/** Returns how many bytes the response reserves. A task larger than its limit reserves at most a key's share. */
function bytesOf(rows: readonly TaskRow[]): number {
  return Math.min(rows.reduce((sum, { bytes }) => sum + bytes, 0), maxTaskBytes)
}

export async function listTasks(account: AccountStore, input: TaskListInput): Promise<TaskPage> {
  const { pageSize, pageToken, historyLength, includeArtifacts = false, room = answerRoom(account) } = input
  const filter: TaskFilter = {
    contextId: input.contextId ?? null,
    state: input.state ?? null,
    recipient: input.recipient ?? null,
    since: input.since ?? null,
  }
  const ofList = digestOf(JSON.stringify(filter)).slice(0, 16)
  const before = pageToken ? positionIn(pageToken, ofList) : { at: Number.MAX_SAFE_INTEGER, id: '' }
  const viewer = clientOf(account)
  const { tasks } = account.read
  const [found, totalSize] = await Promise.all([
    tasks.list(viewer.agentId, filter, before, pageSize + 1),
    tasks.count(viewer.agentId, filter),
  ])
  const rows = firstThatFit(found.slice(0, pageSize))
  const make = () => shownTasks(viewer, rows, { historyLength, withArtifacts: includeArtifacts })
  const shown = await room(bytesOf(rows), make)
  const last = found.length > rows.length ? rows.at(-1) : undefined
  return { tasks: shown, nextPageToken: last ? tokenOf(last, ofList) : '', pageSize, totalSize }
}

/**
 * Cancels one of the calling agent's tasks. An unread message is withdrawn; a recipient that has read it is notified.
 */
export async function cancelTask(
  account: AccountStore,
  id: string,
  { recipient, room }: TaskRead = {},
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
  return await getTask(account, id, { recipient, room, waits: true })
}

/** Returns the rows that fit into a page, at least one. */
function firstThatFit(rows: TaskRow[]): TaskRow[] {
  let left = maxTaskBytes
  const over = rows.findIndex(({ bytes }) => (left -= bytes) < 0)
  return over < 0 ? rows : rows.slice(0, Math.max(over, 1))
}

/** Fails with `payload_too_large` if the task is full. Concurrent calls may together exceed the limit. */
export function refuseIfFull({ bytes }: TaskRow): void {
  if (bytes < maxTaskBytes) return
  const most = `${maxTaskBytes / 2 ** 20} MiB`
  throw new GridError('payload_too_large', `The task has reached its limit of ${most}. End it.`)
}

/** Makes the client get the task from now on, instead of the recipient's plain reply. */
export async function showTask(account: AccountStore, id: string, end: TaskEnd): Promise<void> {
  const { agentId: agent } = callingAgent(account.actor)
  await account.write(account.change.tasks.show({ end, agent }, id))
}

/** Makes the client get the task after a wait, unless a plain reply has ended the task (`bareReply`). */
export async function showIfOpen(account: AccountStore, id: string, home?: string): Promise<void> {
  const { mode, expiresAt } = await findTask(account, id, undefined, home)
  if (mode === 'message' && expiresAt !== null) await showTask(account, id, 'client')
}

export async function findTask(
  account: AccountStore,
  id: string,
  recipient?: string,
  home?: string,
): Promise<TaskRow> {
  const viewer = clientOf(account, home)
  const row = await viewer.account.read.tasks.of('client', viewer.agentId, id)
  if (!row || (recipient !== undefined && row.recipientAlias !== recipient)) throw taskNotFound(id)
  return row
}

export function clientOf(account: AccountStore, home?: string): Viewer {
  const tasks = home === undefined ? account.read.tasks : account.tasksOf(home)
  return {
    account: { read: { tasks }, deps: account.deps },
    end: 'client',
    agentId: callingAgent(account.actor).agentId,
  }
}

export function taskNotFound(taskId: string): GridError {
  return new GridError('task_not_found', 'You have no task with this id.', { info: { taskId } })
}

/** Fails with `unsupported_operation` if the task has ended. */
export function refuseEnded({ id, state, expiresAt }: TaskRow): void {
  if (expiresAt !== null) return
  const message = `The task is in a terminal state: ${state}. Send without its taskId to begin a new one.`
  throw new GridError('unsupported_operation', message, { info: { taskId: id } })
}

function notCancelable({ id, state }: TaskRow): GridError {
  return new GridError('task_not_cancelable', `The task is in a terminal state already: ${state}.`, {
    info: { taskId: id },
  })
}

function tokenOf({ statusAt, id }: TaskRow, ofList: string): string {
  return Buffer.from(JSON.stringify([statusAt, id, ofList])).toString('base64url')
}

function positionIn(token: string, ofList: string): { at: number; id: string } {
  try {
    const [at, id, list] = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[]
    if (Number.isSafeInteger(at) && typeof id === 'string' && list === ofList) return { at: at as number, id }
  } catch {
    // The token is not a cursor of this grid.
  }
  throw invalidInput('This pageToken is not valid for this list.', 'pageToken')
}
