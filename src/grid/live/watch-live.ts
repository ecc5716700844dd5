/** Streams that tell the open pages of a person what changes. They carry no text; pages fetch what they show. */
import { callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { Signal } from '../../lib/notifier.ts'
import { hasPassed, minute, second } from '../../lib/time.ts'
import type { AccountStore, LiveNews, LivePlace } from '../../store/account.ts'
import { mayRead, placeOf, type Reader, readerOf } from '../conversations/may-read.ts'

/** More missed messages than this are not told one by one: the page reads everything again. */
const maxMissed = 200
/** More news than this do not wait for a slow reader. */
const maxPending = 1_000
/** The longest life of a stream. Its browser then opens a new one. */
const maxAgeMs = 30 * minute
/** How old the rights may be by which news are chosen, and how often the unread messages are counted without any. */
const readerAgeMs = second
const countMs = 5 * second

/** An account whose pages are open, and the threads of which the states of messages are told. */
export interface WatchedAccount {
  id: string
  account: AccountStore
  threads: readonly number[]
}

/** Why a stream ends: `account` means that the user may not see it any more. */
export type LiveEnd =
  | { why: 'session' | 'replaced' | 'full' | 'stopping' | 'unavailable' }
  | { why: 'account'; a: string }

/** An event. `a` is the id of an account, `t` of a thread. `id`: everything up to this message was told. */
export interface LiveEvent {
  name: 'hello' | 'thread' | 'state' | 'presence' | 'count' | 'resync' | 'beat' | 'bye'
  data: Record<string, unknown>
  id?: number
}

export interface LiveWatch {
  /** Tell what was said after this message; undefined for nothing before now. */
  after?: number
  /** How long the stream may be silent, in milliseconds. The session is checked as often. */
  heartbeatMs: number
  /** Why the stream has to end; undefined if the session and the accounts are as they were. */
  check(): Promise<LiveEnd | undefined>
  /** Its signal is aborted when the browser disconnects. */
  connection: { readonly signal: AbortSignal }
}

/**
 * Tell the calling user, for up to 30 minutes, what changes in accounts, as far as they may read it. Ends with `bye`,
 * unless the browser leaves. A person has four streams: a fifth ends the oldest. All accounts have the same caller.
 *
 * Fails with `wrong_credential`. See docs/delivery.md, "Live pages".
 */
export function watchLive(watched: readonly WatchedAccount[], watch: LiveWatch): AsyncGenerator<LiveEvent[]> {
  const { userId } = callingUser(watched[0].account.actor)
  return new LiveStream(watched.map((one) => new AccountNews(one)), watch).events(watched[0].account, userId)
}

class LiveStream {
  readonly #accounts: readonly AccountNews[]
  readonly #watch: LiveWatch
  readonly #signal = new Signal()

  constructor(accounts: readonly AccountNews[], watch: LiveWatch) {
    this.#accounts = accounts
    this.#watch = watch
  }

  async *events({ deps, waiting }: AccountStore, userId: string): AsyncGenerator<LiveEvent[]> {
    const { connection: { signal: disconnected }, heartbeatMs, check } = this.#watch
    const { now, log, stopping } = deps
    const raise = () => this.#signal.raise()
    let isReplaced = false
    const release = waiting.pages.acquireOrEvictOldest(userId, () => {
      isReplaced = true
      raise()
    })
    if (!release) return yield [bye({ why: 'full' })]
    const wake = new WakeSignal(raise)
    const unsubscribe = waiting.notifier.subscribe(userId, wake)
    disconnected.addEventListener('abort', raise, { once: true })
    const openedAt = now()
    let checkedAt = now()
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      yield await this.#begin()
      let spokeAt = now()
      while (!disconnected.aborted && !hasPassed(openedAt, maxAgeMs, now())) {
        if (isReplaced) return yield [bye({ why: 'replaced' })]
        if (stopping?.aborted) return yield [bye({ why: 'stopping' })]
        if (wake.take() || hasPassed(checkedAt, heartbeatMs, now())) {
          const end = await check()
          if (end) return yield [bye(end)]
          for (const account of this.#accounts) account.distrust()
          checkedAt = now()
        }
        const found = (await Promise.all(this.#accounts.map((account) => account.take()))).flat()
        const isBeat = hasPassed(spokeAt, heartbeatMs, now())
        if (found.length > 0 || isBeat) {
          spokeAt = now()
          yield this.#told(found, isBeat)
          // The browser may take any time to read this, so look again before waiting.
          continue
        }
        timer = setTimeout(raise, countMs)
        await this.#signal.raised()
        clearTimeout(timer)
      }
    } catch (error) {
      const end = endOf(error)
      if (end.why === 'unavailable') log.warn('A stream of a page ended because its news could not be read', { error })
      yield [bye(end)]
    } finally {
      clearTimeout(timer)
      disconnected.removeEventListener('abort', raise)
      unsubscribe()
      for (const account of this.#accounts) account.leave()
      release()
    }
  }

  /** What comes first: where the stream begins, the counts, and what was missed. */
  async #begin(): Promise<LiveEvent[]> {
    const raise = () => this.#signal.raise()
    const begun = await Promise.all(this.#accounts.map((account) => account.begin(this.#watch.after, raise)))
    const seq = Math.min(...begun.map(({ position }) => position))
    const missed = begun.flatMap(({ missed }) => missed)
    const counts = await Promise.all(this.#accounts.map((account) => account.take()))
    const isTooMuch = begun.some(({ isTooMuch }) => isTooMuch) || missed.length > maxMissed
    return [
      { name: 'hello', data: { seq } },
      ...isTooMuch ? [resync(seq)] : inOrder(missed, seq),
      ...counts.flat(),
    ]
  }

  #told(found: LiveEvent[], isBeat: boolean): LiveEvent[] {
    const position = this.#accounts[0].position
    if (found.some(({ name }) => name === 'resync') || found.length > maxMissed) return [resync(position)]
    return [...inOrder(found), ...isBeat ? [{ name: 'beat' as const, data: {}, id: position }] : []]
  }
}

/** Remembers being raised by a wake signal, beside the signal of the stream. */
class WakeSignal extends Signal {
  readonly #onRaise: () => void
  #isRaised = false

  constructor(onRaise: () => void) {
    super()
    this.#onRaise = onRaise
  }

  override raise(): void {
    this.#isRaised = true
    this.#onRaise()
  }

  /** Whether it was raised since the last time. */
  take(): boolean {
    const wasRaised = this.#isRaised
    this.#isRaised = false
    return wasRaised
  }
}

/** The news of one account, as far as the calling user may have them. */
class AccountNews {
  readonly #account: AccountStore
  readonly #threads: readonly number[]
  readonly #id: string
  #pending: LiveNews[] = []
  #leave: (() => void) | undefined
  #reader: Reader | undefined
  #readAt = -Infinity
  #unread: number | undefined
  #countedAt = -Infinity
  #mayCount = true

  constructor({ id, account, threads }: WatchedAccount) {
    this.#account = account
    this.#threads = threads
    this.#id = id
  }

  get position(): number {
    return this.#account.waiting.live.position
  }

  /** `after`: see `LiveWatch`. `onNews` is called when there is something to take. */
  async begin(after: number | undefined, onNews: () => void) {
    const { live } = this.#account.waiting
    const { position, leave } = await live.join(this.#threads, (news) => {
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

  /** The rights of the user may have changed. */
  distrust(): void {
    this.#readAt = -Infinity
  }

  /** What there is to tell. Fails with `not_allowed` if the user is no member any more. */
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
        this.#reader = await readerOf(this.#account)
      } catch (error) {
        throw error instanceof GridError && error.code === 'not_allowed' ? new AccountLost(this.#id) : error
      }
      this.#readAt = now
    }
    return this.#reader
  }

  /** How many messages to the user are unread, if it is another number than before. */
  async #countEvents(): Promise<LiveEvent[]> {
    const passed = performance.now() - this.#countedAt
    if (passed < (this.#mayCount ? 0 : countMs)) return []
    this.#mayCount = false
    this.#countedAt = performance.now()
    const { seat } = await this.#freshReader()
    const unread = seat ? await this.#account.read.inbox.unread(seat.agentId) : 0
    if (unread === this.#unread) return []
    this.#unread = unread
    return [{ name: 'count', data: { a: this.#id, unread } }]
  }

  #threadEvent({ threadId, seq, at }: LivePlace): LiveEvent {
    return { name: 'thread', data: { a: this.#id, t: threadId, seq, at }, id: seq }
  }

  #stateEvent(places: LivePlace[]): LiveEvent {
    return { name: 'state', data: { a: this.#id, t: places[0].threadId, ids: places.map(({ seq }) => seq) } }
  }

  #presenceEvent({ agentId, state, queue }: { agentId: string; state: string; queue: number }): LiveEvent {
    return { name: 'presence', data: { a: this.#id, agent: agentId, state, queue } }
  }
}

/** The user may not see an account any more. */
class AccountLost extends Error {
  readonly account: string

  constructor(account: string) {
    super('The user is no member of the account any more')
    this.account = account
  }
}

function endOf(error: unknown): LiveEnd {
  return error instanceof AccountLost ? { why: 'account', a: error.account } : { why: 'unavailable' }
}

function isFor(reader: Reader, { channelId, fromAgentId, toAgentId, at }: LivePlace): boolean {
  return mayRead(reader, placeOf(reader, { channelId, agents: [fromAgentId, toAgentId] }), at)
}

function isTo({ seat, channels }: Reader, { channelId, toAgentId }: LivePlace): boolean {
  return channelId === null ? toAgentId === seat?.agentId : channels.has(channelId)
}

/** The newest event of each thread, agent and count, in the order of the log. `atMost` limits their ids. */
function inOrder(events: LiveEvent[], atMost = Infinity): LiveEvent[] {
  const newest = new Map<string, LiveEvent>()
  for (const event of [...events].sort((a, b) => (a.id ?? 0) - (b.id ?? 0))) {
    const { name, data: { a, t, agent } } = event
    const key = name === 'state' ? `state ${newest.size}` : `${name} ${a} ${t ?? agent}`
    newest.delete(key)
    newest.set(key, event.id !== undefined && event.id > atMost ? { ...event, id: atMost } : event)
  }
  return [...newest.values()]
}

function resync(position: number): LiveEvent {
  return { name: 'resync', data: {}, id: position }
}

/** The last event of a stream. */
export function bye(end: LiveEnd): LiveEvent {
  return { name: 'bye', data: { ...end } }
}
