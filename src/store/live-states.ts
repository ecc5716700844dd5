/** The states of the newest messages in a thread that an open page shows. */
import type { overview } from './account/attention.ts'
import type { seenTasks } from './account/seen-tasks.ts'
import type { threadMessages } from './account/thread-messages.ts'
import type { LivePlace } from './global/conversations.ts'

/** The number of watched messages per thread, which is one page. */
const maxMessages = 50

export interface LiveReads {
  overview: Pick<ReturnType<(typeof overview)['reads']>, 'presence'>
  seenTasks: Pick<ReturnType<(typeof seenTasks)['reads']>, 'ofMessages'>
  threadMessages: Pick<ReturnType<(typeof threadMessages)['reads']>, 'newest' | 'direct' | 'posts'>
}

/** A task's final states. */
const ended = ['completed', 'canceled', 'failed', 'rejected']

interface State {
  /** A fingerprint of all details of the message's state that a page shows. */
  mark: string
  /** Whether the state may still change. */
  isOpen: boolean
  isUntouched: boolean
  toAgentId: string | null
}

export class ThreadStates {
  readonly #read: LiveReads
  readonly #accountId: string
  readonly #threadId: number
  /** The newest messages, and their last known states. */
  #places = new Map<number, LivePlace>()
  #states = new Map<number, State>()
  #hasGrown = true
  #isKnown = false

  constructor(read: LiveReads, accountId: string, threadId: number) {
    this.#read = read
    this.#accountId = accountId
    this.#threadId = threadId
  }

  /** Whether the states have been read at least once. Only changes after the first read are reported. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Call when the thread has a new message. It may be a reply to a message whose state is otherwise final. */
  grows(): void {
    this.#hasGrown = true
  }

  /** Returns the messages whose state changed since the last check. Runs one query if no state is open. */
  async changed(): Promise<LivePlace[]> {
    const isFirst = !this.#isKnown
    const seqs = this.#hasGrown ? await this.#newest() : this.#open()
    if (seqs.length === 0) return []
    const states = await this.#stateOf(seqs)
    const changed = seqs.filter((seq) => {
      const [before, now] = [this.#states.get(seq), states.get(seq)]
      // A page that was notified of a new message may still show its initial state.
      return before ? before.mark !== now?.mark : !isFirst && now?.isUntouched === false
    })
    for (const [seq, state] of states) this.#states.set(seq, state)
    this.#isKnown = true
    return changed.map((seq) => ({ ...this.#places.get(seq)!, toAgentId: states.get(seq)?.toAgentId ?? null }))
  }

  async #newest(): Promise<number[]> {
    const found = await this.#read.threadMessages.newest(this.#threadId, maxMessages)
    const of = { accountId: this.#accountId, threadId: this.#threadId, toAgentId: null }
    this.#places = new Map(found.map((place) => [place.seq, { ...of, ...place }]))
    this.#hasGrown = false
    for (const seq of this.#states.keys()) if (!this.#places.has(seq)) this.#states.delete(seq)
    if (found.length === 0) this.#isKnown = true
    return [...this.#places.keys()]
  }

  #open(): number[] {
    return [...this.#states].flatMap(([seq, { isOpen }]) => isOpen ? [seq] : [])
  }

  async #stateOf(seqs: number[]): Promise<Map<number, State>> {
    const { seenTasks, threadMessages } = this.#read
    const [direct, posts, tasks] = await Promise.all([
      threadMessages.direct(seqs),
      threadMessages.posts(seqs),
      seenTasks.ofMessages(seqs),
    ])
    const taskOf = new Map(tasks.map((task) => [task.seq, task]))
    const states = new Map<number, State>()
    for (const { seq, agentId, state, wokenAt, readAt, releaseCount, repliedAt } of direct) {
      const task = taskOf.get(seq)
      const mark = [state, wokenAt, readAt, releaseCount, repliedAt, task?.state, task?.steps.length].join(' ')
      const isOpenTask = task !== undefined && !ended.includes(task.state)
      const isUnread = state === 'unread'
      const isUntouched = isUnread && releaseCount === 0
      states.set(seq, { mark, isOpen: isUnread || state === 'leased' || isOpenTask, isUntouched, toAgentId: agentId })
    }
    for (const { seq, recipients, unread, parked, expired, retracted } of posts) {
      const mark = [recipients, unread, parked, expired, retracted].join(' ')
      states.set(seq, { mark, isOpen: unread > 0, isUntouched: unread === recipients, toAgentId: null })
    }
    return states
  }
}
