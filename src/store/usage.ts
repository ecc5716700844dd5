/**
 * Counts what accounts send, for the quotas. A count is in memory and exact for this process. Once a second, what
 * changed is stored, and what other processes stored is read: only for what was used since the last time. So a check
 * costs no statement, and several processes exceed a quota by what they send in about a second.
 *
 * See docs/operations.md, "Quotas".
 */
import { setTimeout } from 'node:timers'
import type { Deps } from '../deps.ts'
import { newId } from '../lib/id.ts'
import { day, second } from '../lib/time.ts'
import { maxCountedUnread } from './account/unread.ts'
import type { prepareUsage } from './account/usage.ts'
import type { Statement } from './driver/binding.ts'

const exchangeMs = second
/** After its last use a count takes part in two exchanges: others may have stored theirs only after the first one. */
const exchangesAfterUse = 2
/** How many accounts, pairs of one account, and inboxes are kept in memory, if not more of them are in use. */
const maxKept = 10_000
/** How many counts one statement stores. */
const maxStored = 500
/** How many inboxes of one account are counted at a time. A full inbox takes as long as a large page. */
const maxInboxes = 50

/** Messages that were sent, and about how many bytes they added to the database. */
export interface Used {
  messages: number
  bytes: number
}

/** A committed message, as it is counted. */
export interface CountedMessage {
  /** The id of the sending agent. */
  from: string
  /** The inbox of a direct message. `home` is the account of a stranger's inbox. */
  inbox?: { agentId: string; home?: string }
  bytes: number
  /** The unread messages of the inbox according to the receipt, if it says. */
  unread?: number
}

type Usage = ReturnType<typeof prepareUsage>

interface UsageOptions {
  tablesOf(accountId: string): {
    read: { usage: ReturnType<Usage['reads']> }
    change: { usage: ReturnType<Usage['changes']> }
  }
  writeLater(statements: Statement[]): void
  deps: Pick<Deps, 'config' | 'log' | 'now'>
  /** No other process uses the database. */
  isAlone: boolean
}

/** One count of this process: of an account, or of a pair of strangers. */
interface Counter {
  readonly id: string
  readonly subject: string
  readonly own: Used
  /** What all others had counted when it was last read. */
  others: Used
  hasReadOthers: boolean
  isStored: boolean
  /** In how many more exchanges it takes part. */
  exchanges: number
}

interface Inbox {
  readonly home: string
  /** As last counted; undefined before. */
  unread: number | undefined
  /** Deliveries by this process since. */
  since: number
  isActive: boolean
}

/** The counters of one account on one day. */
class AccountCounters {
  /** The first millisecond of the day. */
  readonly day: number
  readonly bySubject = new Map<string, Counter>()
  /** Reads for the first time what others counted for the account. */
  loading: Promise<void> | undefined

  constructor(day: number) {
    this.day = day
  }

  get(subject: string): Counter {
    let counter = this.bySubject.get(subject)
    if (!counter) {
      const none = { messages: 0, bytes: 0 }
      counter = {
        id: newId(),
        subject,
        own: { ...none },
        others: none,
        hasReadOthers: false,
        isStored: true,
        exchanges: 0,
      }
      this.bySubject.set(subject, counter)
    }
    counter.exchanges = exchangesAfterUse
    return counter
  }

  get isActive(): boolean {
    return [...this.bySubject.values()].some(({ exchanges }) => exchanges > 0)
  }
}

/** The counters of this process. */
export class UsageCounters {
  readonly #options: UsageOptions
  readonly #accounts = new Map<string, AccountCounters>()
  readonly #inboxes = new Map<string, Inbox>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(options: UsageOptions) {
    this.#options = options
  }

  ofAccount(accountId: string): AccountUsage {
    return new AccountUsage(this, accountId)
  }

  /** The counters of an account today. */
  of(accountId: string): AccountCounters {
    const today = startOfDay(this.#options.deps.now())
    const known = this.#accounts.get(accountId)
    if (known?.day === today) return known
    if (known) this.#store(accountId, known)
    const counters = new AccountCounters(today)
    this.#accounts.set(accountId, counters)
    return counters
  }

  /** The counters of an account today. The first call reads what others counted. */
  loaded(accountId: string): AccountCounters | Promise<AccountCounters> {
    const counters = this.of(accountId)
    const total = counters.get(wholeAccount)
    this.#schedule()
    if (total.hasReadOthers) return counters
    counters.loading ??= this.#readOthers(accountId, counters, [total]).finally(() => {
      counters.loading = undefined
    })
    return counters.loading.then(() => counters)
  }

  /** The counters of an account today, with a fresh count by others. */
  async reloaded(accountId: string): Promise<AccountCounters> {
    const counters = this.of(accountId)
    await this.#readOthers(accountId, counters, [counters.get(wholeAccount)])
    return counters
  }

  count(accountId: string, { from, inbox, bytes, unread }: CountedMessage): void {
    const counters = this.of(accountId)
    add(counters.get(wholeAccount), bytes)
    if (inbox?.home !== undefined) add(counters.get(pairOf(from, inbox.agentId)), bytes)
    if (inbox) this.#delivered(inbox.home ?? accountId, inbox.agentId, unread)
    this.#schedule()
  }

  /** How many messages of an inbox are unread, or were before its agent read some in the last second. */
  unread(agentId: string): number {
    const inbox = this.#inboxes.get(agentId)
    if (!inbox) return 0
    inbox.isActive = true
    this.#schedule()
    return atMost(inbox)
  }

  /** A receipt that counted them all makes it unnecessary to count this inbox, unless it is full. */
  #delivered(home: string, agentId: string, unread: number | undefined): void {
    const limit = this.#options.deps.config.unreadPerInbox
    if (limit === 0) return
    const isExact = unread !== undefined && unread < maxCountedUnread
    if (isExact && unread < limit) {
      this.#inboxes.delete(agentId)
      return
    }
    const known = this.#inboxes.get(agentId) ?? { home, unread: undefined, since: 0, isActive: true }
    if (isExact) Object.assign(known, { unread, since: 0 })
    else known.since++
    known.isActive = true
    this.#inboxes.set(agentId, known)
  }

  /** Store what this process counted, and read what others counted. */
  async exchange(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await Promise.all([
      ...[...this.#accounts].map(([id, counters]) => this.#exchangeAccount(id, counters)),
      ...[...this.#crowdedInboxes()].map(([home, inboxes]) => this.#countInboxes(home, inboxes)),
    ])
    this.#forget()
    if ([...this.#accounts.values()].some(({ isActive }) => isActive)) this.#schedule()
  }

  /** Store what was counted with the last commits, and stop. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const [id, counters] of this.#accounts) this.#store(id, counters)
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#timer ??= setTimeout(() => {
      this.exchange().catch((error) => this.#options.deps.log.warn('The usage of others could not be read', { error }))
    }, exchangeMs).unref()
  }

  async #exchangeAccount(id: string, counters: AccountCounters): Promise<void> {
    const active = [...counters.bySubject.values()].filter(({ exchanges }) => exchanges > 0)
    for (const counter of active) counter.exchanges--
    this.#store(id, counters)
    // Alone, others are only the processes before this one.
    const stale = this.#options.isAlone ? active.filter(({ hasReadOthers }) => !hasReadOthers) : active
    if (stale.length > 0) await this.#readOthers(id, counters, stale)
  }

  #store(accountId: string, counters: AccountCounters): void {
    const changed = [...counters.bySubject.values()].filter(({ isStored }) => !isStored)
    for (let at = 0; at < changed.length; at += maxStored) {
      const counts = changed.slice(at, at + maxStored)
        .map((counter) => ({ subject: counter.subject, counterId: counter.id, ...counter.own }))
      this.#options.writeLater([this.#options.tablesOf(accountId).change.usage.store(counters.day, counts)])
    }
    for (const counter of changed) counter.isStored = true
  }

  async #readOthers(accountId: string, counters: AccountCounters, stale: Counter[]): Promise<void> {
    const { usage } = this.#options.tablesOf(accountId).read
    const rows = await usage.counted(counters.day, stale.map(({ subject }) => subject), stale.map(({ id }) => id))
    const bySubject = new Map(rows.map(({ subject, messages, bytes }) => [subject, { messages, bytes }]))
    for (const counter of stale) {
      counter.others = bySubject.get(counter.subject) ?? { messages: 0, bytes: 0 }
      counter.hasReadOthers = true
    }
  }

  /**
   * The inboxes in use that have to be counted, by account: those that were never counted, and those that are half full
   * or got many messages since.
   */
  #crowdedInboxes(): Map<string, [agentId: string, inbox: Inbox][]> {
    const limit = this.#options.deps.config.unreadPerInbox
    const crowded = new Map<string, [string, Inbox][]>()
    for (const [agentId, inbox] of this.#inboxes) {
      if (!inbox.isActive) continue
      const isDue = inbox.unread === undefined || atMost(inbox) >= limit / 2 || inbox.since >= limit / 20
      const found = crowded.get(inbox.home) ?? []
      if (isDue && found.length >= maxInboxes) continue
      inbox.isActive = false
      if (isDue) crowded.set(inbox.home, [...found, [agentId, inbox]])
    }
    return crowded
  }

  async #countInboxes(home: string, inboxes: [agentId: string, inbox: Inbox][]): Promise<void> {
    const { deps: { config }, tablesOf } = this.#options
    // What is delivered while they are counted may be counted twice, until the next time.
    const before = new Map(inboxes.map(([agentId, { since }]) => [agentId, since]))
    const counted = await tablesOf(home).read.usage.unread([...before.keys()], config.unreadPerInbox)
    for (const { agentId, unread } of counted) {
      const inbox = this.#inboxes.get(agentId)
      if (inbox) Object.assign(inbox, { unread, since: Math.max(0, inbox.since - before.get(agentId)!) })
    }
  }

  /** What is over its limit is kept: forgetting it would let more pass. */
  #forget(): void {
    const { strangerMessagesPerDay, unreadPerInbox } = this.#options.deps.config
    for (const [id, counters] of this.#accounts) {
      if (this.#accounts.size > maxKept && !counters.isActive) this.#accounts.delete(id)
      const { bySubject } = counters
      for (const [subject, counter] of bySubject) {
        if (bySubject.size <= maxKept) break
        const isBelow = strangerMessagesPerDay === 0 || sum(counter).messages < strangerMessagesPerDay
        if (subject !== wholeAccount && counter.exchanges === 0 && counter.isStored && isBelow) {
          bySubject.delete(subject)
        }
      }
    }
    for (const [agentId, inbox] of this.#inboxes) {
      if (this.#inboxes.size <= maxKept) break
      if (!inbox.isActive && atMost(inbox) < unreadPerInbox / 2) this.#inboxes.delete(agentId)
    }
  }
}

/** The usage of one account, as this process knows it. Only `today`, the first time, and `todayOfAll` read the store. */
export class AccountUsage {
  readonly #counters: UsageCounters
  readonly #accountId: string

  constructor(counters: UsageCounters, accountId: string) {
    this.#counters = counters
    this.#accountId = accountId
  }

  /** What the account has sent today. Not a promise once it is known, because every send asks. */
  today(): Used | Promise<Used> {
    const counters = this.#counters.loaded(this.#accountId)
    return counters instanceof Promise ? counters.then(totalOf) : totalOf(counters)
  }

  /** What the account has sent today, with what other processes have stored up to now. */
  async todayOfAll(): Promise<Used> {
    return totalOf(await this.#counters.reloaded(this.#accountId))
  }

  /** How many messages an agent of the account has sent today to an agent of another account. */
  toStranger(from: string, to: string): number {
    return sum(this.#counters.of(this.#accountId).get(pairOf(from, to))).messages
  }

  /** How many messages of an inbox of any account are unread, or were before its agent read some in the last second. */
  unread(agentId: string): number {
    return this.#counters.unread(agentId)
  }

  /** Count a message after its commit. */
  count(message: CountedMessage): void {
    this.#counters.count(this.#accountId, message)
  }
}

/** The subject of the count of an account. */
const wholeAccount = ''

function totalOf(counters: AccountCounters): Used {
  return sum(counters.get(wholeAccount))
}

function pairOf(from: string, to: string): string {
  return `${from}/${to}`
}

function add(counter: Counter, bytes: number): void {
  counter.own.messages++
  counter.own.bytes += bytes
  counter.isStored = false
}

function sum({ own, others }: Counter): Used {
  return { messages: own.messages + others.messages, bytes: own.bytes + others.bytes }
}

function atMost({ unread, since }: Inbox): number {
  return (unread ?? 0) + since
}

/** The first millisecond of a day in UTC. */
export function startOfDay(at: number): number {
  return Math.floor(at / day) * day
}
