/** Following a task: waiting for its answer, and its events one by one. See docs/delivery.md, "Tasks". */
import { callingAgent } from '../../auth/actor.ts'
import { type GridError, limitReached } from '../../errors.ts'
import { Signal } from '../../lib/notifier.ts'
import { minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { TaskEventRow, TaskRow } from '../../store/account/tasks.ts'
import { shownEvents, shownTasks } from './shown-task.ts'
import { isInterrupted, isTerminal, type Task, type TaskEvent } from './task.ts'
import { clientOf, findTask, getTask, taskHasEnded, type TaskScope } from './tasks.ts'

interface TaskListener {
  connection?: { readonly signal: AbortSignal }
  /** Fails when the credential has ended. Called before what is told after a wait. */
  check?(): Promise<unknown>
}

interface TaskWait extends TaskListener, TaskScope {
  ms: number
  /** Also wait if the recipient is not connected. */
  strict: boolean
}

interface TaskWatch extends TaskListener, TaskScope {
  /** Only the events after this number, without the task first. */
  after?: number
  endsWhenInterrupted: boolean
  heartbeatMs: number
}

/** What a stream of a task tells: the task as it is, an event after that, or that the stream is alive. */
export type TaskNews = { first: Task } | TaskEvent | 'heartbeat'

/** A recipient that waited for messages so lately is connected. */
const connectedMs = 10 * second
const maxAgeMs = 15 * minute
/** How often a stream or a wait looks whether its credential has ended, if nothing said so. */
const checkMs = 15 * second
const maxEventsRead = 200

/**
 * The task once it has ended or waits for its client, or as it is when the time is over. At once if the recipient is
 * not connected, unless `strict`, or if the credential has too many streams. Fails with `task_not_found`.
 */
export async function waitForTask(
  account: AccountStore,
  id: string,
  { ms, strict, recipient, connection, check }: TaskWait,
): Promise<Task> {
  const { agentId, credentialId } = callingAgent(account.actor)
  const { notifier, taskStreams } = account.waiting
  const row = await findTask(account, id, recipient)
  const isConnected = strict || notifier.wasAwaited(row.recipientAgentId, connectedMs)
  const isOver = row.expiresAt === null || isInterrupted(row.state) || !isConnected || ms <= 0
  const releaseSeat = isOver ? undefined : taskStreams.acquire(credentialId)
  if (!releaseSeat) return await getTask(account, id, { recipient })

  const following = new Following(account, agentId, id, row.generation, connection?.signal)
  const timer = setTimeout(() => following.end(), ms)
  try {
    for (let hasEnded = false; !hasEnded && !following.isOver;) {
      await account.trace.time('waitingMs', () => following.raised())
      const events = await following.next()
      hasEnded = !events || events.some(({ state }) => state !== null && (isTerminal(state) || isInterrupted(state)))
    }
    await check?.()
    return await getTask(account, id, { recipient })
  } finally {
    clearTimeout(timer)
    following.leave()
    releaseSeat()
  }
}

/**
 * The task and then its events, until it has ended, at most 15 minutes. Before the first value it fails with `task_not_found`, `unsupported_operation` (the task has
 * ended, and no `after` is given) or `rate_limit_exceeded`.
 */
export async function* watchTask(account: AccountStore, id: string, watch: TaskWatch): AsyncGenerator<TaskNews> {
  const { agentId, credentialId } = callingAgent(account.actor)
  const { taskStreams } = account.waiting
  const row = await findTask(account, id, watch.recipient)
  const releaseSeat = taskStreams.acquire(credentialId)
  if (!releaseSeat) throw tooManyStreams(account)
  try {
    const { after } = watch
    if (after !== undefined) {
      const hasAll = row.expiresAt === null && after >= row.generation
      return hasAll ? undefined : yield* eventsOf(account, agentId, id, after, watch)
    }
    const [task] = await shownTasks(clientOf(account), [row], { withArtifacts: true })
    if (isTerminal(task.status.state)) throw taskHasEnded({ id, state: task.status.state })
    yield { first: task }
    if (watch.endsWhenInterrupted && isInterrupted(task.status.state)) return
    yield* eventsOf(account, agentId, id, task.generation, watch)
  } finally {
    releaseSeat()
  }
}

/** Heartbeats until the recipient of a task of mode `message` has said something, at most for `ms`. */
export async function* holdTask(
  account: AccountStore,
  id: string,
  { ms, heartbeatMs, connection, check }: TaskListener & { ms: number; heartbeatMs: number },
): AsyncGenerator<'heartbeat'> {
  const { agentId, credentialId } = callingAgent(account.actor)
  const { taskStreams } = account.waiting
  const isHeld = ({ mode, expiresAt }: TaskRow) => mode === 'message' && expiresAt !== null
  const row = await findTask(account, id)
  const releaseSeat = isHeld(row) && ms > 0 ? taskStreams.acquire(credentialId) : undefined
  if (!releaseSeat) return
  const following = new Following(account, agentId, id, row.generation, connection?.signal)
  const timer = setTimeout(() => following.end(), ms)
  try {
    while (!following.isOver && isHeld(await findTask(account, id))) {
      if (!await following.raised(heartbeatMs)) yield 'heartbeat'
    }
    await check?.()
  } finally {
    clearTimeout(timer)
    following.leave()
    releaseSeat()
  }
}

/** Fails with `rate_limit_exceeded` if `watchTask` would. For callers that change something before they follow it. */
export function requireTaskStream(account: AccountStore): void {
  if (!account.waiting.taskStreams.hasCapacity(callingAgent(account.actor).credentialId)) throw tooManyStreams(account)
}

function tooManyStreams({ waiting }: AccountStore): GridError {
  const limit = { name: 'task-streams', quota: waiting.taskStreams.perKey }
  return limitReached('rate_limit_exceeded', 'This key has too many streams of tasks. Close one.', limit, 5)
}

async function* eventsOf(
  account: AccountStore,
  agentId: string,
  id: string,
  after: number,
  { endsWhenInterrupted, heartbeatMs, connection, check }: TaskWatch,
): AsyncGenerator<TaskNews> {
  const following = new Following(account, agentId, id, after, connection?.signal)
  const ageTimer = setTimeout(() => following.end(), maxAgeMs)
  let checkedAt = performance.now()
  try {
    for (;;) {
      const rows = await following.next()
      if (following.mayHaveEnded || performance.now() - checkedAt > checkMs) {
        if (check && !await check().then(() => true, () => false)) return
        following.mayHaveEnded = false
        checkedAt = performance.now()
      }
      const events = rows.length > 0 ? await shownEvents({ account, end: 'client', agentId }, id, rows) : []
      for (const event of events) {
        yield event
        if (event.type !== 'status') continue
        const { state } = event.status
        if (isTerminal(state) || (endsWhenInterrupted && isInterrupted(state))) return
      }
      if (following.isOver) return
      if (rows.length === maxEventsRead) continue
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
  readonly #read: (after: number) => Promise<TaskEventRow[]>
  readonly #signal = new Signal()
  readonly #unwatch: (() => void)[]
  readonly #disconnected?: AbortSignal
  readonly #stopping?: AbortSignal
  readonly #end = () => this.end()
  #position: number

  constructor(account: AccountStore, agentId: string, task: string, after: number, disconnected?: AbortSignal) {
    const { notifier } = account.waiting
    this.#position = after
    this.#read = (n) => account.read.tasks.eventsAfter(agentId, task, n, maxEventsRead)
    this.#unwatch = [
      notifier.watch(task, this.#signal),
      // What wakes an agent may be the end of its credential.
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

  /** Resolves when there may be news: to false if there was none for `ms`. */
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
    const events = await this.#read(this.#position)
    this.#position = events.at(-1)?.n ?? this.#position
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
