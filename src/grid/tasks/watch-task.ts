/** Follows a task: waits for its answer, or streams its events. See docs/delivery.md, "Tasks". */
import { callingAgent } from '../../auth/actor.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GridError } from '../../errors.ts'
import { Signal } from '../../lib/notifier.ts'
import { minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { TaskEventRow, TaskRow } from '../../store/account/tasks.ts'
import { refusal, roomCheckMs, roomFor } from '../answer-room.ts'
import { shownEvents, shownTasks } from './shown-task.ts'
import { endsStream, isInterrupted, type Task, type TaskEvent, type TaskState } from './task.ts'
import { clientOf, findTask, maxTaskBytes, refuseEnded, showIfOpen, type TaskScope } from './tasks.ts'

interface TaskListener {
  /** Its signal aborts when the caller leaves. */
  caller?: { readonly signal: AbortSignal }
  /** Fails when the credential has ended. Called before each value that follows a wait. */
  check?(): Promise<unknown>
}

interface TaskWait extends TaskListener, TaskScope {
  ms: number
}

interface TaskWatch extends TaskListener, TaskScope {
  /** The calling agent's earlier account, which the task belongs to. */
  home?: string
  /** Stream only the events after this number, without the task first. */
  after?: number
  /** How many of the newest messages the initial task includes. */
  historyLength?: number
  /** The stream is the response to a send. It also ends when the task waits for its client. */
  isOfSend?: boolean
  /** How long to wait for the recipient's plain reply before the task is returned, if the task has mode `message`. */
  replyMs?: number
  heartbeatMs: number
}

/** The values of a task stream: the current task, a later event, or a heartbeat. */
export type TaskNews = { first: Task } | TaskEvent | 'heartbeat'

/** A recipient that waited for messages this recently counts as connected. */
const connectedMs = 10 * second
const maxAgeMs = 15 * minute
/** How often a stream or a wait checks whether its credential has ended, in case no event reports it. */
const checkMs = 15 * second
const maxEventsRead = 200
/** A value of this many bytes is followed by a heartbeat, because stream consumers keep the last value in memory. */
const muchBytes = 64 * 1024

/**
 * Resolves once the task has ended or waits for its client, or after the timeout. Resolves immediately if callers do
 * not wait for the recipient, or if there are too many streams. Fails with `task_not_found`.
 */
export async function waitForTask(
  account: AccountStore,
  id: string,
  { ms, recipient, caller, check }: TaskWait,
): Promise<void> {
  const { credentialId } = callingAgent(account.actor)
  const row = await findTask(account, id, recipient)
  const isOver = row.expiresAt === null || isInterrupted(row.state) || ms <= 0
  if (isOver || !await doCallersWait(account, row)) return
  const releaseStream = account.waiting.taskStreams.acquire(credentialId)
  if (!releaseStream) return

  try {
    const isWaiting = ({ expiresAt, state }: TaskRow) => expiresAt !== null && !isInterrupted(state)
    // Without a heartbeat interval, the stream ends with its first value.
    await whileIts(isWaiting, account, row, { ms, caller, check }).next()
  } finally {
    releaseStream()
  }
}

/** Whether callers wait: as configured, or by default while the recipient is connected or holds a timed lease. */
async function doCallersWait(account: AccountStore, { id, recipientAgentId }: TaskRow): Promise<boolean> {
  const { deps: { now }, read: { tasks }, waiting: { notifier } } = account
  const recipient = await tasks.recipientOf(callingAgent(account.actor).agentId, id, now())
  if (recipient?.callersWait !== 'auto') return recipient?.callersWait === 'yes'
  return recipient.hasLeased === 1 || notifier.wasAwaited(recipientAgentId, connectedMs)
}

/** Yields heartbeats while `isSo` holds for the task, for at most `ms`. Fails as `check` does. */
async function* whileIts(
  isSo: (row: TaskRow) => boolean,
  account: AccountStore,
  { id, generation }: TaskRow,
  { ms, heartbeatMs, home, caller, check }: TaskListener & { ms: number; heartbeatMs?: number; home?: string },
): AsyncGenerator<'heartbeat', void> {
  const following = new Following(account, callingAgent(account.actor).agentId, id, generation, caller?.signal)
  const timer = setTimeout(() => following.end(), ms)
  try {
    while (!following.isOver && isSo(await findTask(account, id, undefined, home))) {
      const isRaised = await account.trace.time('waitingMs', () => following.raised(heartbeatMs))
      if (!isRaised) yield 'heartbeat'
    }
    await check?.()
  } finally {
    clearTimeout(timer)
    following.leave()
  }
}

/**
 * Yields the task and then its events, until it has ended, for at most 15 minutes. Before the first value it fails with
 * `task_not_found`, and without `isOfSend` with `unsupported_operation` (the task has ended) or `rate_limit_exceeded`.
 * The values use memory until they are sent; while no memory is free, it yields heartbeats.
 */
export async function* watchTask(account: AccountStore, id: string, watch: TaskWatch): AsyncGenerator<TaskNews> {
  const { credentialId } = callingAgent(account.actor)
  const { after, isOfSend = false, home } = watch
  const row = await findTask(account, id, watch.recipient, home)
  if (after === undefined && !isOfSend) refuseEnded(row)
  const releaseStream = account.waiting.taskStreams.acquire(credentialId)
  // When there are too many streams, the response to a send is the task alone.
  if (!releaseStream && !isOfSend) throw tooManyStreams(account)
  try {
    if (after === undefined) {
      const { generation, state } = yield* firstOf(account, row, watch)
      if (!releaseStream || endsStream(state, isOfSend)) return
      return yield* eventsOf(account, id, { after: generation, bytes: row.bytes }, watch)
    }
    const hasAll = row.expiresAt === null && after >= row.generation
    if (!hasAll) yield* eventsOf(account, id, { after, bytes: after >= row.generation ? row.bytes : 0 }, watch)
  } finally {
    releaseStream?.()
  }
}

async function* firstOf(
  account: AccountStore,
  row: TaskRow,
  watch: TaskWatch,
): AsyncGenerator<TaskNews, { generation: number; state: TaskState }> {
  const { historyLength, replyMs, home } = watch
  let now = row
  const release = yield* takeRoom(account, row.bytes)
  try {
    const [task] = await shownTasks(clientOf(account, home), [row], { historyLength, withArtifacts: true })
    if (replyMs !== undefined && row.mode === 'message') now = yield* untilReply(account, row, replyMs, watch)
    if (now === row || now.mode !== 'message') {
      const { generation, status: { state } } = task
      yield { first: task }
      if (row.bytes > muchBytes) yield 'heartbeat'
      return { generation, state }
    }
  } finally {
    release()
  }
  // The plain reply has arrived and is the answer.
  return yield* firstOf(account, now, { ...watch, replyMs: undefined })
}

/**
 * Yields heartbeats until the recipient of a task with mode `message` has replied, for at most `ms`. Returns the task
 * at that time. If the task is still open, its client gets the task from now on.
 */
async function* untilReply(
  account: AccountStore,
  row: TaskRow,
  ms: number,
  watch: TaskWatch,
): AsyncGenerator<'heartbeat', TaskRow> {
  yield 'heartbeat'
  const isSilent = ({ mode, expiresAt }: TaskRow) => mode === 'message' && expiresAt !== null
  if (ms > 0) yield* whileIts(isSilent, account, row, { ...watch, ms })
  const { caller, home } = watch
  if (caller?.signal.aborted) return row
  await showIfOpen(account, row.id, home)
  return await findTask(account, row.id, undefined, home)
}

/** Yields heartbeats until this many bytes of memory are free. Returns the function that releases them. */
async function* takeRoom(account: AccountStore, bytes: number): AsyncGenerator<'heartbeat', () => void> {
  for (;;) {
    const release = roomFor(account, Math.min(bytes, maxTaskBytes))
    if (typeof release === 'function') return release
    await sleep(roomCheckMs)
    yield 'heartbeat'
  }
}

/** Fails with `rate_limit_exceeded` if `watchTask` would. For callers that change something before they follow it. */
export function requireTaskStream(account: AccountStore): void {
  if (account.waiting.taskStreams.reached(callingAgent(account.actor).credentialId)) throw tooManyStreams(account)
}

function tooManyStreams({ waiting, actor }: AccountStore): GridError {
  const reached = waiting.taskStreams.reached(callingAgent(actor).credentialId)!
  return refusal('task-streams', reached, 'streams of tasks', 'Close one, or try again later.', 5)
}

/** Yields the events after a number. `bytes` is approximately the size of the task before these events. */
async function* eventsOf(
  account: AccountStore,
  id: string,
  { after, bytes: told }: { after: number; bytes: number },
  { isOfSend = false, heartbeatMs, caller, check }: TaskWatch,
): AsyncGenerator<TaskNews> {
  const { agentId } = callingAgent(account.actor)
  const following = new Following(account, agentId, id, after, caller?.signal)
  const ageTimer = setTimeout(() => following.end(), maxAgeMs)
  let checkedAt = performance.now()
  try {
    for (;;) {
      const { generation, bytes } = await findTask(account, id)
      if (following.mayHaveEnded || performance.now() - checkedAt > checkMs) {
        if (check && !await check().then(() => true, () => false)) return
        following.mayHaveEnded = false
        checkedAt = performance.now()
      }
      let count = 0
      if (generation > following.position) {
        const release = yield* takeRoom(account, bytes - told)
        try {
          const rows = await following.next()
          count = rows.length
          for (const event of await shownEvents(clientOf(account), id, rows)) {
            yield event
            if (event.type === 'status' && endsStream(event.status.state, isOfSend)) return
          }
          if (bytes - told > muchBytes) yield 'heartbeat'
        } finally {
          release()
        }
      }
      if (following.isOver) return
      if (count === maxEventsRead) continue
      told = bytes
      if (!await following.raised(heartbeatMs)) yield 'heartbeat'
    }
  } catch (error) {
    account.deps.log.warn('A stream of a task ended because its events could not be read', { error })
  } finally {
    clearTimeout(ageTimer)
    following.leave()
  }
}

class Following {
  /** The credential may have ended since this was last set to false. */
  mayHaveEnded = false
  isOver = false
  /** The number of the event read last. */
  position: number
  readonly #read: (after: number) => Promise<TaskEventRow[]>
  readonly #signal = new Signal()
  readonly #unwatch: (() => void)[]
  readonly #disconnected?: AbortSignal
  readonly #stopping?: AbortSignal
  readonly #end = () => this.end()

  constructor(account: AccountStore, agentId: string, task: string, after: number, disconnected?: AbortSignal) {
    const { notifier } = account.waiting
    this.position = after
    this.#read = (n) => account.read.tasks.eventsAfter(agentId, task, n, maxEventsRead)
    this.#unwatch = [
      notifier.watch(task, this.#signal),
      // A signal to the agent may also mean that its credential has ended.
      notifier.watch(agentId, {
        raise: () => {
          this.mayHaveEnded = true
          this.#signal.raise()
        },
      }),
    ]
    this.#disconnected = disconnected
    this.#stopping = account.deps.stopping
    for (const ending of [disconnected, this.#stopping]) {
      if (ending?.aborted) this.end()
      ending?.addEventListener('abort', this.#end, { once: true })
    }
  }

  /** Resolves to true when there may be news, or to false if there was none for `ms`. */
  async raised(ms?: number): Promise<boolean> {
    let isLate = false
    const timer = ms === undefined ? undefined : setTimeout(() => {
      isLate = true
      this.#signal.raise()
    }, ms)
    await this.#signal.raised()
    clearTimeout(timer)
    return !isLate
  }

  async next(): Promise<TaskEventRow[]> {
    const events = await this.#read(this.position)
    this.position = events.at(-1)?.n ?? this.position
    return events
  }

  end(): void {
    this.isOver = true
    this.#signal.raise()
  }

  leave(): void {
    for (const ending of [this.#disconnected, this.#stopping]) ending?.removeEventListener('abort', this.#end)
    for (const unwatch of this.#unwatch) unwatch()
  }
}
