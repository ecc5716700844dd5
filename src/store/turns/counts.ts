/**
 * How many turns the conversations of each account have had since the last input from outside, and within the last
 * hour. What this process counts and what others have stored are kept apart, so that nothing is counted twice.
 */
import { day, hour, minute } from '../../lib/time.ts'

/** The last hour is counted in steps of this length. */
const stepMs = 5 * minute
/** A conversation without a turn for this long begins again. */
export const turnsKeptMs = day
/** How many conversations are kept in memory. */
const maxKept = 20_000

/** What one process counted. */
export interface Counted {
  turns: number
  /** When its counting began: the last input from outside. */
  resetAt: number
  /** The first millisecond of a step, and its turns; the oldest first. */
  steps: [number, number][]
}

/** A pair, a cycle, a channel or a conversation id, as one account counts it. */
export interface Conversation {
  readonly accountId: string
  readonly key: string
  /** The aliases of the agents that took a turn; for a pair or cycle all of it. */
  readonly agents: Set<string>
  readonly own: Counted
  /** By counter. */
  readonly others: Map<string, Counted>
  turnedAt: number
  isStored: boolean
  /** It is refused until somebody resumes it. */
  isPaused: boolean
  /** Messages with more hops than this and the limit are refused: those of the last pause, once it was resumed. */
  hopsBefore: number
}

export class TurnCounts {
  readonly #conversations = new Map<string, Conversation>()
  /** Those with turns, by the alias of each agent. */
  readonly #byAgent = new Map<string, Set<Conversation>>()

  get(accountId: string, key: string): Conversation | undefined {
    return this.#conversations.get(`${accountId} ${key}`)
  }

  /** The conversation; new without turns. */
  of(accountId: string, key: string): Conversation {
    const id = `${accountId} ${key}`
    let conversation = this.#conversations.get(id)
    if (!conversation) {
      conversation = {
        accountId,
        key,
        agents: new Set(),
        own: { turns: 0, resetAt: 0, steps: [] },
        others: new Map(),
        turnedAt: 0,
        isStored: true,
        isPaused: false,
        hopsBefore: 0,
      }
      if (this.#conversations.size >= maxKept) this.#forgetSome()
      this.#conversations.set(id, conversation)
    }
    return conversation
  }

  /** The conversations with turns that an agent takes part in. */
  ofAgent(agent: string): Iterable<Conversation> {
    return this.#byAgent.get(agent) ?? []
  }

  /** Count a turn, or with -1 take it back. */
  count(conversation: Conversation, agents: readonly string[], now: number, by: 1 | -1 = 1): void {
    const { own } = conversation
    // Input from outside came between a turn and its failure.
    if (by < 0 && own.turns === 0) return
    if (now - conversation.turnedAt > turnsKeptMs && conversation.turnedAt > 0) this.reset(conversation, now)
    own.turns += by
    const start = now - now % stepMs
    const step = own.steps.at(-1)
    if (step && (step[0] >= start || by < 0)) step[1] += by
    else own.steps.push([start, 1])
    while (own.steps.length > 0 && own.steps[0][0] <= now - hour) own.steps.shift()
    conversation.turnedAt = now
    conversation.isStored = false
    if (by > 0) this.#join(conversation, agents)
  }

  /** Begin again: there was input from outside. */
  reset(conversation: Conversation, at: number): void {
    const { own } = conversation
    // Later than before also when the clock stands still or goes back.
    this.#begin(conversation, Math.max(at, own.resetAt + 1))
    conversation.isStored = false
  }

  /** Take what another process has stored. */
  merge(conversation: Conversation, counter: string, counted: Counted, agents: string[], turnedAt: number): void {
    if (counted.resetAt > conversation.own.resetAt) this.#begin(conversation, counted.resetAt)
    conversation.others.set(counter, counted)
    conversation.turnedAt = Math.max(conversation.turnedAt, turnedAt)
    if (turnsOf(conversation) > 0) this.#join(conversation, agents)
  }

  #begin(conversation: Conversation, at: number): void {
    Object.assign(conversation.own, { turns: 0, resetAt: at, steps: [] })
    for (const agent of conversation.agents) this.#leave(agent, conversation)
    conversation.agents.clear()
  }

  #join(conversation: Conversation, agents: readonly string[]): void {
    for (const agent of agents) {
      if (conversation.agents.has(agent)) continue
      conversation.agents.add(agent)
      const known = this.#byAgent.get(agent)
      if (known) known.add(conversation)
      else this.#byAgent.set(agent, new Set([conversation]))
    }
  }

  #leave(agent: string, conversation: Conversation): void {
    const known = this.#byAgent.get(agent)
    known?.delete(conversation)
    if (known?.size === 0) this.#byAgent.delete(agent)
  }

  /** Forget the tenth that is in memory longest. What is paused or not stored yet is kept. */
  #forgetSome(): void {
    let left = maxKept / 10
    for (const [id, conversation] of this.#conversations) {
      if (left-- === 0) return
      if (conversation.isPaused || conversation.hopsBefore > 0 || !conversation.isStored) continue
      for (const agent of conversation.agents) this.#leave(agent, conversation)
      this.#conversations.delete(id)
    }
  }
}

/** From where hops are counted after a pause. The message that was refused is the first one to go on. */
export function hopsBefore(refused: number): number {
  return Math.max(0, refused - 1)
}

/** The turns since the last input from outside. */
export function turnsOf(conversation: Conversation): number {
  let turns = 0
  for (const counted of present(conversation)) turns += counted.turns
  return turns
}

/** The turns of the last 55 to 60 minutes, since the last input from outside. */
export function turnsInHour(conversation: Conversation, now: number): number {
  let turns = 0
  for (const { steps } of present(conversation)) {
    for (const [start, count] of steps) if (start > now - hour) turns += count
  }
  return turns
}

/** The counts since the last input from outside. A process that does not know of it yet counts nothing. */
function* present({ own, others }: Conversation): Iterable<Counted> {
  yield own
  for (const other of others.values()) if (other.resetAt === own.resetAt) yield other
}
