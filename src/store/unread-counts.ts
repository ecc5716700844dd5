/**
 * Knows about how many messages of an inbox are unread, for the quotas, without a statement in a send. An inbox that is
 * not known to be nearly empty is counted in the background; until then deliveries of this process are added up.
 *
 * See docs/operations.md, "Quotas".
 */
import type { Deps } from '../deps.ts'
import { second } from '../lib/time.ts'
import { maxCountedUnread } from './account/unread-old.ts'
import type { prepareUsage } from './account/usage.ts'

/** How many inboxes are kept in memory, if not more of them are nearly full. */
const maxKept = 10_000
/** An inbox that stays full is counted again after this time. */
const recountMs = 3 * second
/** About how many rows are counted at a time, for all accounts together, and how many by one statement. */
const maxRows = 200_000
const maxRowsOfStatement = 20_000
/** An inbox costs this much besides its rows. */
const rowsOfInbox = 20

interface UnreadCountsOptions {
  tablesOf(accountId: string): { read: { usage: Pick<ReturnType<ReturnType<typeof prepareUsage>['reads']>, 'unread'> } }
  deps: Pick<Deps, 'config' | 'log' | 'now'>
  /** Runs `recount` in a second. */
  exchange: { schedule(): void }
}

interface Inbox {
  readonly agentId: string
  /** The account of its agent, which a claim can change. */
  home: string
  /** As last counted; undefined before. */
  unread: number | undefined
  countedAt: number
  /** Deliveries by this process since. */
  since: number
}

/** The unread messages of inboxes that this process delivers to. */
export class UnreadCounts {
  readonly #options: UnreadCountsOptions
  readonly #inboxes = new Map<string, Inbox>()
  /** Those that were used since they were last counted or looked at, the longest waiting first. */
  readonly #waiting = new Set<Inbox>()

  constructor(options: UnreadCountsOptions) {
    this.#options = options
  }

  /** How many messages of an inbox are unread, or were when it was last counted. */
  unread(agentId: string): number {
    const inbox = this.#inboxes.get(agentId)
    if (!inbox) return 0
    this.#use(inbox)
    return atMost(inbox)
  }

  /**
   * Count a delivery. `unread` is what the receipt says, if it says: it makes counting this inbox unnecessary, unless
   * that is already too many.
   */
  delivered(home: string, agentId: string, unread: number | undefined): void {
    const limit = this.#options.deps.config.strangerUnreadPerInbox
    if (limit === 0) return
    const isExact = unread !== undefined && unread < maxCountedUnread
    const known = this.#inboxes.get(agentId)
    if (isExact && unread < limit) {
      if (known) this.#remove(known)
      return
    }
    const inbox = known ?? { agentId, home, unread: undefined, countedAt: 0, since: 0 }
    inbox.home = home
    if (isExact) Object.assign(inbox, { unread, since: 0 })
    else inbox.since++
    this.#inboxes.set(agentId, inbox)
    this.#use(inbox)
  }

  /**
   * Count inboxes that are in use and perhaps full, those first that have waited longest. The others wait for the next
   * time: counting many rows keeps all others waiting. Returns whether there must be a next time.
   */
  async recount(): Promise<boolean> {
    let rows = 0
    while (rows < maxRows) {
      const inboxes = this.#nextToCount()
      if (inboxes.length === 0) break
      try {
        rows += await this.#count(inboxes)
      } catch (error) {
        this.#options.deps.log.warn('The unread messages of inboxes could not be counted', { error })
        for (const inbox of inboxes) this.#waiting.add(inbox)
        break
      }
    }
    this.#forget()
    return this.#waiting.size > 0
  }

  #use(inbox: Inbox): void {
    this.#waiting.add(inbox)
    this.#options.exchange.schedule()
  }

  #remove(inbox: Inbox): void {
    this.#inboxes.delete(inbox.agentId)
    this.#waiting.delete(inbox)
  }

  /** Some inboxes of one account that one statement counts. They no longer wait. */
  #nextToCount(): Inbox[] {
    const limit = this.#options.deps.config.unreadPerInbox
    const next: Inbox[] = []
    let rows = 0
    for (const inbox of this.#waiting) {
      const state = this.#stateOf(inbox)
      if (state === 'known') this.#waiting.delete(inbox)
      if (state !== 'due' || (next.length > 0 && inbox.home !== next[0].home)) continue
      rows += Math.min(inbox.unread === undefined ? limit : atMost(inbox), limit)
      if (next.length > 0 && rows > maxRowsOfStatement) break
      next.push(inbox)
      this.#waiting.delete(inbox)
    }
    return next
  }

  /** Whether an inbox has to be counted now, or later, or is known well enough. */
  #stateOf(inbox: Inbox): 'due' | 'early' | 'known' {
    const { deps: { config, now } } = this.#options
    const limit = config.strangerUnreadPerInbox
    if (inbox.unread === undefined || inbox.since >= limit / 20) return 'due'
    if (atMost(inbox) < limit / 2) return 'known'
    const age = now() - inbox.countedAt
    return age >= 0 && age < recountMs ? 'early' : 'due'
  }

  /** Returns about how many rows it took. */
  async #count(inboxes: Inbox[]): Promise<number> {
    const { deps: { config, now }, tablesOf } = this.#options
    // What is delivered while they are counted may be counted twice, until the next time.
    const before = new Map(inboxes.map(({ agentId, since }) => [agentId, since]))
    const [{ home }] = inboxes
    const counted = await tablesOf(home).read.usage.unread([...before.keys()], config.unreadPerInbox)
    let rows = 0
    for (const { agentId, unread } of counted) {
      rows += rowsOfInbox + unread
      const inbox = this.#inboxes.get(agentId)
      if (!inbox) continue
      Object.assign(inbox, { unread, countedAt: now(), since: Math.max(0, inbox.since - before.get(agentId)!) })
    }
    return rows
  }

  /** Forget the oldest, if there are many. What is nearly full is kept: forgetting it would let more pass. */
  #forget(): void {
    const limit = this.#options.deps.config.strangerUnreadPerInbox
    for (const inbox of this.#inboxes.values()) {
      if (this.#inboxes.size <= maxKept) return
      if (!this.#waiting.has(inbox) && atMost(inbox) < limit / 2) this.#remove(inbox)
    }
  }
}

function atMost({ unread, since }: Inbox): number {
  return (unread ?? 0) + since
}
