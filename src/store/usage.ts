/**
 * Counts what accounts send, for the quotas. A count is in memory and exact for this process. Once a second, what
 * changed is stored, and what other processes stored is read: only for what was used since the last time. So a check
 * costs no statement, and several processes exceed a quota by what they send in about a second.
 *
 * See docs/operations.md, "Quotas".
 */
import { setImmediate } from 'node:timers'
import type { Deps } from '../deps.ts'
import { newId } from '../lib/id.ts'
import { day } from '../lib/time.ts'
import type { prepareUsage } from './account/usage.ts'
import type { Statement } from './driver/binding.ts'
import type { UnreadCounts } from './unread-counts.ts'

/** After its last use a count takes part in two exchanges: others may have stored theirs only after the first one. */
const exchangesAfterUse = 2
/** How many counts of accounts, and how many of pairs, are kept in memory, if not more of them are in use. */
const maxKept = 20_000
/** How many counts one statement stores. */
const maxStored = 500

/** Messages that were sent, and about how many bytes they added to the database. */
export interface Used {
  messages: number
  bytes: number
}

/** A committed message, as it is counted. */
export interface CountedMessage {
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
  /** Runs `exchange` in a second. */
  exchange: { schedule(): void }
}

/** One count of this process: of an account, or of an account and a stranger's inbox. */
interface Counter {
  readonly id: string
  readonly accountId: string
  /** The first millisecond of its day. */
  readonly day: number
  readonly subject: string
  readonly own: Used
  /** What all others had counted when it was last read. */
  others: Used
  hasReadOthers: boolean
  /** Reads for the first time what others counted. */
  loading?: Promise<void>
  /** The number of the read that `others` is from. Two may overlap, and the later one knows more. */
  readAs: number
  isStored: boolean
  /** In how many more exchanges it takes part. */
  exchanges: number
}

/** The counters of this process. */
export class UsageCounters {
  readonly #options: UsageOptions
  /** By account. */
  readonly #accounts = new Map<string, Counter>()
  /** By account and inbox. */
  readonly #pairs = new Map<string, Counter>()
  /** Those that take part in the next exchange. */
  readonly #active = new Set<Counter>()
  #reads = 0

  constructor(options: UsageOptions) {
    this.#options = options
  }

  /** The count of an account today. */
  ofAccount(accountId: string): Counter {
    return this.#use(this.#accounts, accountId, accountId, wholeAccount)
  }

  /** The count of what an account sent to an inbox of another account today. */
  ofPair(accountId: string, inbox: string): Counter {
    return this.#use(this.#pairs, `${accountId}/${inbox}`, accountId, inbox)
  }

  /** The count of an account today. The first call reads what others counted. */
  loaded(accountId: string): Counter | Promise<Counter> {
    const counter = this.ofAccount(accountId)
    if (counter.hasReadOthers && !counter.loading) return counter
    // Until the next turn, so that no send overtakes those that wait.
    counter.loading ??= this.#readOthers([counter]).finally(() => setImmediate(() => counter.loading = undefined))
    return counter.loading.then(() => counter)
  }

  /** The count of an account today, with a fresh count by others. */
  async reloaded(accountId: string): Promise<Counter> {
    const counter = this.ofAccount(accountId)
    await this.#readOthers([counter])
    return counter
  }

  /** Store what this process counted, and read what others counted. Returns whether another exchange must follow. */
  async exchange(): Promise<boolean> {
    const reads = this.#activeByAccount().map(async (counters) => {
      this.#store(counters)
      // Alone, others are only the processes before this one.
      const stale = this.#options.isAlone ? counters.filter(({ hasReadOthers }) => !hasReadOthers) : counters
      for (const counter of counters) counter.exchanges--
      try {
        if (stale.length > 0) await this.#readOthers(stale)
      } catch (error) {
        for (const counter of stale) counter.exchanges = Math.max(counter.exchanges, 1)
        throw error
      }
    })
    const results = await Promise.allSettled(reads)
    const failed = results.filter((result) => result.status === 'rejected')
    if (failed.length > 0) {
      const { reason: error } = failed[0]
      this.#options.deps.log.warn('The usage of others could not be read', { accounts: failed.length, error })
    }
    for (const counter of this.#active) {
      if (counter.exchanges <= 0 && counter.isStored) this.#active.delete(counter)
    }
    this.#forget()
    return this.#active.size > 0
  }

  /** Store what was counted with the last commits. */
  close(): void {
    for (const counters of this.#activeByAccount()) this.#store(counters)
  }

  /** One group for each account and day. */
  #activeByAccount(): Counter[][] {
    const groups = new Map<string, Counter[]>()
    for (const counter of this.#active) {
      const key = `${counter.accountId} ${counter.day}`
      const group = groups.get(key)
      if (group) group.push(counter)
      else groups.set(key, [counter])
    }
    return [...groups.values()]
  }

  #use(counters: Map<string, Counter>, key: string, accountId: string, subject: string): Counter {
    const today = startOfDay(this.#options.deps.now())
    let counter = counters.get(key)
    // That of yesterday takes part in its last exchanges all the same.
    if (counter?.day !== today) counters.set(key, counter = newCounter(accountId, today, subject))
    if (counter.exchanges === exchangesAfterUse) return counter
    counter.exchanges = exchangesAfterUse
    this.#active.add(counter)
    this.#options.exchange.schedule()
    return counter
  }

  /** Store the counts of one account and day. */
  #store(counters: Counter[]): void {
    const changed = counters.filter(({ isStored }) => !isStored)
    for (let at = 0; at < changed.length; at += maxStored) {
      const [{ accountId, day }] = changed
      const counts = changed.slice(at, at + maxStored)
        .map((counter) => ({ subject: counter.subject, counterId: counter.id, ...counter.own }))
      this.#options.writeLater([this.#options.tablesOf(accountId).change.usage.store(day, counts)])
    }
    for (const counter of changed) counter.isStored = true
  }

  /** Read what others counted, for counters of one account and day. */
  async #readOthers(counters: Counter[]): Promise<void> {
    const [{ accountId, day }] = counters
    const read = ++this.#reads
    const { usage } = this.#options.tablesOf(accountId).read
    const rows = await usage.counted(day, counters.map(({ subject }) => subject), counters.map(({ id }) => id))
    const bySubject = new Map(rows.map(({ subject, messages, bytes }) => [subject, { messages, bytes }]))
    for (const counter of counters) {
      if (counter.readAs > read) continue
      counter.readAs = read
      counter.others = bySubject.get(counter.subject) ?? { messages: 0, bytes: 0 }
      counter.hasReadOthers = true
    }
  }

  /**
   * Forget the oldest counts, if there are many. That of an account is read again before its next send. That of a pair
   * is read only after it, so one that is over its limit is kept.
   */
  #forget(): void {
    const limit = this.#options.deps.config.strangerMessagesPerDay
    forgetOldest(this.#accounts, (counter) => this.#active.has(counter))
    forgetOldest(this.#pairs, (counter) => this.#active.has(counter) || (limit > 0 && sum(counter).messages >= limit))
  }
}

/** The usage of one account, as this process knows it. Only `today`, the first time, and `todayOfAll` read the store. */
export class AccountUsage {
  readonly #counters: UsageCounters
  readonly #inboxes: UnreadCounts
  readonly #accountId: string

  constructor(counters: UsageCounters, inboxes: UnreadCounts, accountId: string) {
    this.#counters = counters
    this.#inboxes = inboxes
    this.#accountId = accountId
  }

  /** What the account has sent today. Not a promise once it is known, because every send asks. */
  today(): Used | Promise<Used> {
    const counter = this.#counters.loaded(this.#accountId)
    return counter instanceof Promise ? counter.then(sum) : sum(counter)
  }

  /** What the account has sent today, with what other processes have stored up to now. */
  async todayOfAll(): Promise<Used> {
    return sum(await this.#counters.reloaded(this.#accountId))
  }

  /** How many messages the agents of the account have sent today to an agent of another account. */
  toStranger(agentId: string): number {
    return sum(this.#counters.ofPair(this.#accountId, agentId)).messages
  }

  /** How many messages of an inbox of any account are unread, or were when it was last counted. */
  unread(agentId: string): number {
    return this.#inboxes.unread(agentId)
  }

  /** Count a message after its commit. */
  count({ inbox, bytes, unread }: CountedMessage): void {
    add(this.#counters.ofAccount(this.#accountId), bytes)
    if (!inbox) return
    if (inbox.home !== undefined) add(this.#counters.ofPair(this.#accountId, inbox.agentId), bytes)
    this.#inboxes.delivered(inbox.home ?? this.#accountId, inbox.agentId, unread)
  }
}

/** The subject of the count of an account. */
const wholeAccount = ''

function newCounter(accountId: string, day: number, subject: string): Counter {
  const none = { messages: 0, bytes: 0 }
  return {
    id: newId(),
    accountId,
    day,
    subject,
    own: { ...none },
    others: none,
    hasReadOthers: false,
    readAs: 0,
    isStored: true,
    exchanges: 0,
  }
}

function forgetOldest(counters: Map<string, Counter>, isKept: (counter: Counter) => boolean): void {
  for (const [key, counter] of counters) {
    if (counters.size <= maxKept) return
    if (!isKept(counter)) counters.delete(key)
  }
}

function add(counter: Counter, bytes: number): void {
  counter.own.messages++
  counter.own.bytes += bytes
  counter.isStored = false
}

function sum({ own, others }: Counter): Used {
  return { messages: own.messages + others.messages, bytes: own.bytes + others.bytes }
}

/** The first millisecond of a day in UTC. */
export function startOfDay(at: number): number {
  return Math.floor(at / day) * day
}
