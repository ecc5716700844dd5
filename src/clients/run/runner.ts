/** Runs a program for an unattended agent, with one child process per message or conversation. */
import { minute, second } from '../../lib/time.ts'
import { GridCallError, isCredentialGone, mayRepeat, pause, retryAfterMs } from '../grid-call.ts'
import type { GridClient, Lease, MessageSummary } from '../grid-client.ts'
import type { GridAgent } from '../state/paths.ts'
import { liveSessions } from '../state/sessions.ts'
import { WakeSignals } from '../wake-signals.ts'
import type { Answer } from './dialogue.ts'
import { nextThread, type Thread } from './threads.ts'
import { type HeldLease, HeldLeases, isStale, runTurn, type TurnOptions, type TurnResult, type Work } from './turn.ts'
import { type RunState, type TurnBudget, waitForTurn } from './run-state.ts'

export interface RunnerOptions extends TurnOptions, TurnBudget {
  /** How long a lease remains after this runner stops, in seconds. */
  leaseSeconds: number
  /** The pause after a failed turn or an unanswered call. It doubles with each failure. */
  backoff: { firstMs: number; longestMs: number }
  /** How often a runner on standby checks whether the person has left the session. */
  standByMs: number
  now(): number
  log(message: string): void
}

/** Messages whose turn failed. They stay leased until they are retried. */
interface Retry extends Work {
  /** The time of the next attempt, by the runner's clock. */
  at: number
}

const maxFailures = 5
export const usualBackoff = { firstMs: 5 * second, longestMs: 10 * minute }
/** How often the inbox is checked even without a signal, because signals are only hints. */
const peekMs = minute
export const usualStandByMs = 15 * second
const peekLimit = 50

/**
 * Runs until `stopping` aborts, which terminates the child and releases its messages. Rejects with `GridCallError` when
 * the key no longer works. The caller holds the runner's lock.
 */
export async function runAgent(
  grid: GridClient,
  agent: GridAgent,
  state: RunState,
  options: RunnerOptions,
  stopping: AbortSignal,
): Promise<void> {
  const ending = new AbortController()
  const signal = AbortSignal.any([stopping, ending.signal])
  const signals = new WakeSignals(grid, { runner: options.program.name, signal, log: options.log })
  const runner = new Runner(grid, agent, state, options, signals, signal)
  const followed = signals.follow()
  followed.catch(() => ending.abort())
  try {
    await runner.work()
  } finally {
    ending.abort()
    await runner.leases.releaseAll()
  }
  await followed
}

class Runner {
  readonly leases: HeldLeases
  readonly #grid: GridClient
  readonly #agent: GridAgent
  readonly #state: RunState
  readonly #options: RunnerOptions
  readonly #signals: WakeSignals
  readonly #signal: AbortSignal
  readonly #retries = new Map<string, Retry>()
  /** Unread messages at the last check, except messages that this runner has leased. */
  #unread: readonly MessageSummary[] = []
  /** The turn for messages that were leased together with the last answer. */
  #next: Retry | undefined
  #lastSaid = ''

  constructor(
    grid: GridClient,
    agent: GridAgent,
    state: RunState,
    options: RunnerOptions,
    signals: WakeSignals,
    signal: AbortSignal,
  ) {
    this.#grid = grid
    this.#agent = agent
    this.#state = state
    this.#options = options
    this.#signals = signals
    this.#signal = signal
    this.leases = new HeldLeases(grid, state, options.leaseSeconds, options.log)
  }

  async work(): Promise<void> {
    let failures = 0
    let isLeftReleased = false
    while (!this.#signal.aborted) {
      try {
        if (!isLeftReleased) await this.leases.releaseLeft()
        isLeftReleased = true
        const waitMs = await this.#step()
        failures = 0
        if (waitMs <= 0) continue
        this.#signals.raiseIn(waitMs)
        await this.#signals.next()
      } catch (error) {
        if (isCredentialGone(error) || !(error instanceof GridCallError)) throw error
        this.#say(error.message)
        await pause(retryAfterMs(error) ?? this.#backoffMs(failures++), this.#signal)
      }
    }
  }

  /** Runs one turn if there are messages to handle. Resolves to how long to wait for a signal, in ms. */
  async #step(): Promise<number> {
    const { now } = this.#options
    const budget = waitForTurn(this.#state.turns(), this.#options, now())
    if (budget.ms > 0) {
      this.#say(`The budget is used up: ${budget.why}. Messages wait.`)
      // Signals do not end this wait, because the messages stay unread and would raise signals again.
      await pause(Math.min(budget.ms, peekMs), this.#signal)
      return 0
    }
    const { messages, presence } = await this.#grid.peek({ limit: peekLimit })
    if (presence?.attended || liveSessions(this.#agent).length > 0) {
      this.#say('A person attends the agent in a session. The runner waits.')
      await this.#releaseNext()
      await pause(this.#options.standByMs, this.#signal)
      return 0
    }
    this.#say('')
    const retries = [...this.#retries.values()].sort((a, b) => a.at - b.at)
    if (retries.length > 0 && retries[0].at <= now()) {
      await this.#turn(retries[0])
      return 0
    }
    this.#unread = messages
    const thread = this.#next ? undefined : this.#nextThread()
    if (thread) this.#hold(thread, await this.#grid.lease(this.leases.requestFor(thread.messageIds)))
    const turn = this.#next
    if (turn) {
      this.#next = undefined
      await this.#turn(turn)
      return 0
    }
    return Math.max(1, Math.min(peekMs, (retries[0]?.at ?? Infinity) - now()))
  }

  #nextThread(): Thread | undefined {
    return nextThread(this.#unread, this.#options.per, (key) => this.#retries.has(key))
  }

  /** Stores a leased thread for the next turn. */
  #hold({ key, messageIds }: Thread, leased: Lease): void {
    this.#unread = this.#unread.filter(({ message_id }) => !messageIds.includes(message_id))
    const lease = this.leases.hold(leased)
    if (lease) this.#next = { thread: key, lease, failures: 0, at: 0 }
  }

  async #releaseNext(): Promise<void> {
    if (this.#next) await this.leases.release(this.#next.lease)
    this.#next = undefined
  }

  async #turn(turn: Retry): Promise<void> {
    const { thread, lease } = turn
    this.#retries.delete(thread)
    const result = lease.lost.aborted
      ? { failure: 'Its lease has expired.' }
      : await runTurn(this.#options, this.#state, turn, this.#signal)
    // The lease is released by `releaseAll`.
    if (this.#signal.aborted && 'failure' in result) return
    try {
      await this.#settle(turn, result)
    } catch (error) {
      if (!isStale(error)) throw error
      this.#options.log(`The lease of ${thread} had expired, so nothing was sent. Its messages are redelivered.`)
      lease.drop()
    }
  }

  async #settle(turn: Retry, result: TurnResult): Promise<void> {
    const { thread, lease } = turn
    const { log, now, agent } = this.#options
    if (lease.lost.aborted) {
      log(`The lease of ${thread} has expired. Its messages are redelivered.`)
      return lease.drop()
    }
    if ('answers' in result) {
      await this.#send(lease, result.answers)
      return lease.drop()
    }
    const failures = turn.failures + 1
    if (failures < maxFailures) {
      const waitMs = this.#backoffMs(turn.failures)
      log(`Turn ${failures} of ${thread} failed. The next attempt is in ${waitMs / second} s: ${result.failure}`)
      this.#retries.set(thread, { ...turn, failures, at: now() + waitMs })
      return
    }
    log(`Turn ${failures} of ${thread} failed, and the sender is notified: ${result.failure}`)
    await this.#send(lease, notes(lease, agent))
    lease.drop()
  }

  /**
   * Sends answers, each in one transaction with the acknowledgment of its messages. Acknowledges the other messages.
   */
  async #send({ id, messages, lost }: HeldLease, answers: Answer[]): Promise<void> {
    const rest = new Set(messages.map(({ message_id }) => message_id))
    for (const answer of answers) {
      const next = answer === answers.at(-1) ? this.#upcoming() : undefined
      if (!await this.#sendOne(id, lost, answer, next)) continue
      for (const messageId of answer.messageIds) rest.delete(messageId)
    }
    if (rest.size > 0) await this.#persist(lost, () => this.#grid.ack(id, [...rest]))
  }

  /** The thread to lease with an answer; undefined if no turn follows immediately. */
  #upcoming(): Thread | undefined {
    const isBusy = this.#signal.aborted || this.#next !== undefined || liveSessions(this.#agent).length > 0
    const budget = waitForTurn(this.#state.turns(), this.#options, this.#options.now())
    return isBusy || budget.ms > 0 ? undefined : this.#nextThread()
  }

  /**
   * Sends an answer, and leases the next thread with it. If the grid refuses the answer, sends a note about the
   * refusal. Resolves to whether the grid stored the answer or the note.
   */
  async #sendOne(leaseId: string, lost: AbortSignal, answer: Answer, thread?: Thread): Promise<boolean> {
    const { to, replyTo, text, messageIds } = answer
    const acks = { lease_id: leaseId, message_ids: messageIds }
    const send = async (message: string, key: string): Promise<GridCallError | undefined> => {
      try {
        const next = thread && this.leases.requestFor(thread.messageIds)
        const request = { to, message, reply_to_message_id: replyTo, acks, next }
        const sent = await this.#persist(lost, () => this.#grid.send(request, key))
        if (thread && sent.next && !('error' in sent.next)) this.#hold(thread, sent.next)
      } catch (error) {
        if (isRefusal(error)) return error
        throw error
      }
    }
    const refusal = await send(text, `${leaseId}:${replyTo}`)
    if (!refusal) return true
    this.#options.log(`The answer to ${to} was refused: ${refusal.message}`)
    return await send(refusedNote(refusal), `${leaseId}:${replyTo}:refused`) === undefined
  }

  /** Retries a call until the grid responds or the lease is lost. */
  async #persist<T>(lost: AbortSignal, call: () => Promise<T>): Promise<T> {
    const ended = AbortSignal.any([lost, this.#signal])
    for (let failures = 0;; failures++) {
      try {
        return await call()
      } catch (error) {
        if (!isUnanswered(error) || ended.aborted) throw error
        this.#say(error.message)
        await pause(retryAfterMs(error) ?? this.#backoffMs(failures), ended)
      }
    }
  }

  #backoffMs(failures: number): number {
    const { firstMs, longestMs } = this.#options.backoff
    return Math.min(firstMs * 2 ** failures, longestMs)
  }

  /** Logs a message, unless it equals the last one. */
  #say(message: string): void {
    if (message !== '' && message !== this.#lastSaid) this.#options.log(message)
    this.#lastSaid = message
  }
}

/** Whether to retry a request, because there was no response, the grid is busy, or an intermediary failed. */
function isUnanswered(error: unknown): error is GridCallError {
  return mayRepeat(error) || error instanceof GridCallError && (error.status < 400 || error.code === 'not_a_grid')
}

/** Whether the grid understood a message but refuses it, for example because of a guardrail or a missing recipient. */
function isRefusal(error: unknown): error is GridCallError {
  return error instanceof GridCallError && !isStale(error) && !isCredentialGone(error) && !isUnanswered(error)
}

function refusedNote({ code }: GridCallError): string {
  return `My answer was not delivered: the grid refused it (${code}).`
}

/** A note to each sender after all turns for the messages have failed. */
function notes({ messages }: HeldLease, agent: string): Answer[] {
  const last = new Map(messages.filter(({ type }) => type !== 'system').map((message) => [message.user, message]))
  return [...last.values()].map(({ user, message_id }) => ({
    to: user,
    replyTo: message_id,
    text: `${agent} runs unattended, and its program failed ${maxFailures} times on this message. ` +
      'It was not answered. Send it again later, or write to another agent.',
    messageIds: messages.filter((message) => message.user === user).map(({ message_id }) => message_id),
  }))
}
