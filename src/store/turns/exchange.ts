/** Exchanges what processes count of conversations, once a second. See `turns.ts`. */
import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/id.ts'
import { second } from '../../lib/time.ts'
import type { prepareConversations } from '../account/conversations.ts'
import type { Statement } from '../driver/binding.ts'
import { type GlobalConversations, maxPolled } from '../global/conversations.ts'
import { isPlace, type Read, type RecentReads } from './recent-reads.ts'
import { type Conversation, hopsBefore, type TurnCounts, turnsKeptMs } from './counts.ts'

export interface TurnExchangeOptions {
  tablesOf(accountId: string): {
    change: { conversations: ReturnType<ReturnType<typeof prepareConversations>['changes']> }
  }
  global: GlobalConversations
  writeLater(statements: Statement[]): void
  deps: Pick<Deps, 'now'>
  /** No other process uses the database. */
  isAlone: boolean
}

interface Counts {
  counts: TurnCounts
  reads: RecentReads
  /** A conversation that this process knows as paused was resumed by another one. */
  resumed(accountId: string, key: string, agents: string[], hops: number): void
}

/** How far a poll looks back: units may be committed in another order than their statements read the time. */
const lookBackMs = 2 * second
/** How many rows one statement stores. */
const maxStored = 500

export class TurnExchange {
  readonly #options: TurnExchangeOptions & Counts
  /** Each start makes a new one, so that no process writes the rows of another. */
  readonly #counterId = newId()
  readonly #conversations = new Set<Conversation>()
  readonly #reads = new Set<Read>()
  /** By the clock of the database. */
  #polled = { turns: 0, reads: 0, pauses: 0 }

  constructor(options: TurnExchangeOptions & Counts) {
    this.#options = options
  }

  /** The conversation is stored with the next exchange. */
  hasCounted(conversation: Conversation): void {
    conversation.isStored = false
    this.#conversations.add(conversation)
  }

  /** The read is stored with the next exchange. */
  hasRead(read: Read): void {
    this.#reads.add(read)
  }

  /** Store what has changed. */
  store(): void {
    const { tablesOf, writeLater } = this.#options
    for (const [accountId, changed] of byAccount(this.#conversations)) {
      const rows = changed.map(({ key, agents, own, turnedAt }) => {
        const { turns, resetAt, steps } = own
        return { key, agents: JSON.stringify([...agents]), turns, resetAt, steps: JSON.stringify(steps), turnedAt }
      })
      writeLater([tablesOf(accountId).change.conversations.storeTurns(this.#counterId, rows)])
      for (const conversation of changed) conversation.isStored = true
    }
    for (const [accountId, changed] of byAccount(this.#reads)) {
      writeLater([tablesOf(accountId).change.conversations.storeReads(this.#counterId, changed)])
    }
    this.#conversations.clear()
    this.#reads.clear()
  }

  /** Read what others have stored since the last time. */
  async load(): Promise<void> {
    while (await this.#poll());
  }

  /** Returns whether there is more. */
  async #poll(): Promise<boolean> {
    const { global, isAlone, counts, deps } = this.#options
    const after = this.#polled
    const [turns, reads, pauses] = await Promise.all([
      global.turnsAfter(after.turns),
      isAlone ? [] : global.readsAfter(after.reads),
      global.pausesAfter(after.pauses),
    ])
    const oldest = deps.now() - turnsKeptMs
    for (const { accountId, key, counterId, turns: n, resetAt, steps, agents, turnedAt } of turns) {
      if (counterId === this.#counterId || turnedAt < oldest) continue
      const counted = { turns: n, resetAt, steps: JSON.parse(steps) }
      counts.merge(counts.of(accountId, key), counterId, counted, JSON.parse(agents), turnedAt)
    }
    for (const row of reads) if (row.counterId !== this.#counterId) this.#mergeRead(row)
    for (const row of pauses) this.#mergePause(row)
    this.#polled = {
      turns: nextPosition(after.turns, turns),
      reads: nextPosition(after.reads, reads),
      pauses: nextPosition(after.pauses, pauses),
    }
    return [turns, reads, pauses].some(({ length }) => length === maxPolled)
  }

  #mergeRead({ accountId, reader, source, counterId, reads, answered, readAt }: Row<'readsAfter'>): void {
    const known = this.#options.reads
    const read = isPlace(source) ? known.ofPlace(accountId, reader, source) : known.ofAuthor(accountId, reader, source)
    read.others ??= new Map()
    read.others.set(counterId, { reads, answered })
    read.readAt = Math.max(read.readAt, readAt)
  }

  #mergePause({ accountId, key, agents, hops, resumedAt }: Row<'pausesAfter'>): void {
    const { counts, resumed } = this.#options
    const conversation = counts.of(accountId, key)
    if (resumedAt === null) conversation.isPaused = true
    else if (conversation.isPaused) resumed(accountId, key, JSON.parse(agents), hops)
    else conversation.hopsBefore = hopsBefore(hops)
  }
}

/** A row of a poll. */
type Row<Poll extends 'readsAfter' | 'pausesAfter'> = Awaited<ReturnType<GlobalConversations[Poll]>>[number]

function nextPosition(after: number, rows: { changedAt: number }[]): number {
  const newest = rows.at(-1)?.changedAt
  if (newest === undefined) return after
  return rows.length === maxPolled ? newest : Math.max(after, newest - lookBackMs)
}

/** Groups of one account each, none larger than one statement stores. */
function byAccount<Row extends { accountId: string }>(rows: Iterable<Row>): [accountId: string, Row[]][] {
  const open = new Map<string, Row[]>()
  const groups: [string, Row[]][] = []
  for (const row of rows) {
    let group = open.get(row.accountId)
    if (!group || group.length === maxStored) {
      open.set(row.accountId, group = [])
      groups.push([row.accountId, group])
    }
    group.push(row)
  }
  return groups
}
