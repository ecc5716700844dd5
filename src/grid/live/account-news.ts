/** Changes in one account, limited to what the pages of one user may show. See docs/web.md, "Open pages". */
import { GridError } from '../../errors.ts'
import { second } from '../../lib/time.ts'
import type { AccountStore, LiveNews, LivePlace } from '../../store/account.ts'
import { mayRead, placeOf, type Reader, readerOf } from '../conversations/may-read.ts'

/** After more missed messages than this, the page reloads instead of getting single events. */
export const maxMissed = 200
/** Maximum queued news for a slow reader. */
const maxPending = 1_000
/** Maximum age of the cached permissions that decide which news the user gets. */
const readerAgeMs = second
/** How often unread messages and attention entries are counted while nothing changes. */
export const countMs = 5 * second

export interface NeedsNow {
  open: number
  /** Whether the time for a decision ends within an hour. */
  isUrgent: boolean
  mark: string
}

/** An account with open pages, and the threads whose message states are sent. */
export interface WatchedAccount {
  id: string
  account: AccountStore
  threads: readonly number[]
  /** The attention count of the calling user, possibly some seconds old; undefined if the lookup failed. */
  needs(): Promise<NeedsNow | undefined>
}

export class AccountNews {
  readonly #watched: WatchedAccount
  #pending: LiveNews[] = []
  #leave: (() => void) | undefined
  #reader: Reader | undefined
  #readAt = -Infinity
  #counted = ''
  #countedAt = -Infinity
  #mayCount = true

  constructor(watched: WatchedAccount) {
    this.#watched = watched
  }

  get position(): number {
    return this.#watched.account.waiting.live.position
  }

  /** For `after`, see `LiveWatch`. `onNews` is called when there are changes to take. */
  async begin(after: number | undefined, onNews: () => void) {
    const { live } = this.#watched.account.waiting
    const { position, leave } = await live.join(this.#watched.threads, (news) => {
      if (this.#pending.length >= maxPending) this.#pending = [{ kind: 'lost' }]
      else this.#pending.push(news)
      onNews()
    })
    this.#leave = leave
    const missed = after === undefined || after >= position ? [] : await live.places(after, position, maxMissed + 1)
    const reader = await this.#freshReader()
    return {
      position,
      isTooMuch: missed.length > maxMissed,
      missed: missed.filter((place) => isFor(reader, place)).map((place) => this.#threadEvent(place)),
    }
  }

  leave(): void {
    this.#leave?.()
  }

  distrust(): void {
    this.#readAt = -Infinity
  }

  /** Returns the pending events. Fails with `not_allowed` if the user is no longer a member. */
  async take(): Promise<LiveEvent[]> {
    const pending = this.#pending
    this.#pending = []
    const events: LiveEvent[] = []
    for (const news of pending) {
      if (news.kind === 'lost') events.push(resync(this.position))
      else if (news.kind === 'presence') events.push(...news.agents.map((agent) => this.#presenceEvent(agent)))
      else {
        const reader = await this.#freshReader()
        const places = (news.kind === 'place' ? [news.place] : news.places).filter((place) => isFor(reader, place))
        if (places.some((place) => isTo(reader, place))) this.#mayCount = true
        if (news.kind === 'place') events.push(...places.map((place) => this.#threadEvent(place)))
        else if (places.length > 0) events.push(this.#stateEvent(places))
      }
    }
    return [...events, ...await this.#countEvents()]
  }

  async #freshReader(): Promise<Reader> {
    const now = performance.now()
    if (!this.#reader || now - this.#readAt > readerAgeMs) {
      try {
        this.#reader = await readerOf(this.#watched.account)
      } catch (error) {
        throw error instanceof GridError && error.code === 'not_allowed' ? new AccountLost(this.#watched.id) : error
      }
      this.#readAt = now
    }
    return this.#reader
  }

  /** Returns an event with the unread and attention counts, if they changed. */
  async #countEvents(): Promise<LiveEvent[]> {
    const passed = performance.now() - this.#countedAt
    if (passed < (this.#mayCount ? 0 : countMs)) return []
    this.#mayCount = false
    this.#countedAt = performance.now()
    const { personAlias } = await this.#freshReader()
    const [unread, needs] = await Promise.all([
      personAlias ? this.#watched.account.read.inbox.unread(personAlias.agentId) : 0,
      this.#watched.needs(),
    ])
    const counted = `${unread} ${needs?.mark}`
    if (counted === this.#counted) return []
    this.#counted = counted
    return [{ name: 'count', data: { a: this.#watched.id, unread, attention: needs?.open, urgent: needs?.isUrgent } }]
  }

  #threadEvent({ threadId, seq, at }: LivePlace): LiveEvent {
    return { name: 'thread', data: { a: this.#watched.id, t: threadId, seq, at }, id: seq }
  }

  #stateEvent(places: LivePlace[]): LiveEvent {
    return { name: 'state', data: { a: this.#watched.id, t: places[0].threadId, ids: places.map(({ seq }) => seq) } }
  }

  #presenceEvent({ agentId, state, queue }: { agentId: string; state: string; queue: number }): LiveEvent {
    return { name: 'presence', data: { a: this.#watched.id, agent: agentId, state, queue } }
  }
}

class AccountLost extends Error {
  readonly account: string

  constructor(account: string) {
    super('The user is no longer a member of the account')
    this.account = account
  }
}

export function endOf(error: unknown): LiveEnd {
  return error instanceof AccountLost ? { why: 'account', a: error.account } : { why: 'unavailable' }
}

function isFor(reader: Reader, { channelId, fromAgentId, toAgentId, at }: LivePlace): boolean {
  return mayRead(reader, placeOf(reader, { channelId, agents: [fromAgentId, toAgentId] }), at)
}

function isTo({ personAlias, channels }: Reader, { channelId, toAgentId }: LivePlace): boolean {
  return channelId === null ? toAgentId === personAlias?.agentId : channels.has(channelId)
}

/** Why a stream ends: `account` means that the user may no longer see the account. */
export type LiveEnd =
  | { why: 'session' | 'replaced' | 'full' | 'stopping' | 'unavailable' }
  | { why: 'account'; a: string }

/** An event for a page. `a` is an account id, `t` a thread id. All messages up to `id` have been sent. */
export interface LiveEvent {
  name: 'hello' | 'thread' | 'state' | 'presence' | 'count' | 'resync' | 'beat' | 'bye'
  data: Record<string, unknown>
  id?: number
}

/** Returns the newest event of each thread, agent and count, in log order. Higher ids are lowered to `atMost`. */
export function inOrder(events: LiveEvent[], atMost = Infinity): LiveEvent[] {
  const newest = new Map<string, LiveEvent>()
  for (const event of [...events].sort((a, b) => (a.id ?? 0) - (b.id ?? 0))) {
    const { name, data: { a, t, agent } } = event
    const key = name === 'state' ? `state ${newest.size}` : `${name} ${a} ${t ?? agent}`
    newest.delete(key)
    newest.set(key, event.id !== undefined && event.id > atMost ? { ...event, id: atMost } : event)
  }
  return [...newest.values()]
}

export function resync(position: number): LiveEvent {
  return { name: 'resync', data: {}, id: position }
}

export function bye(end: LiveEnd): LiveEvent {
  return { name: 'bye', data: { ...end } }
}
