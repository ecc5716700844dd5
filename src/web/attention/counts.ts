/** The number of items that need a person, for the navigation. See docs/web.md, "Attention". */
import { callingUser } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { Visitor } from '../../auth/session.ts'
import { type ClaimOffer, findClaimOffer } from '../../grid/accounts/claim.ts'
import { countHeld } from '../../grid/approvals/held.ts'
import { type Condition, countConditions, findConditions, withoutSnoozed } from '../../grid/attention/attention.ts'
import { countQuestions, type Question, questionsOf } from '../../grid/conversations/questions.ts'
import type { NeedsNow } from '../../grid/live/account-news.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'

/** Maximum age of a cached count. */
const keptMs = 10 * second
const maxKept = 1_000

/** An account as opened by a visitor: the agents that the visitor can claim, and the items that await the visitor. */
export interface CountedVisit {
  id: string
  account: AccountStore
  findOffer(): Promise<ClaimOffer | undefined>
  /** All problems in the account. */
  conditions(): Promise<Condition[]>
  questions(): Promise<Question[]>
}

/** Returns the sources of all items in a visitor's count. */
export function countedVisit(
  store: Store,
  { user }: Pick<Visitor, 'user'>,
  { id, account }: Pick<CountedVisit, 'id' | 'account'>,
): CountedVisit {
  return {
    ...{ id, account },
    findOffer: () => findClaimOffer(store, user),
    conditions: () => findConditions(account),
    questions: () => questionsOf(account),
  }
}

interface Kept<T> {
  at: number
  value: Promise<T>
}

/** Caches this process's counts for a few seconds. Concurrent requests share one count. */
export class AttentionCounts {
  readonly #deps: Pick<Deps, 'log' | 'now'>
  readonly #conditions = new LruMap<string, Kept<Condition[]>>(maxKept)
  readonly #counts = new LruMap<string, Kept<Counted>>(maxKept)

  constructor(deps: Pick<Deps, 'log' | 'now'>) {
    this.#deps = deps
  }

  /** Returns the visitor's open items. Undefined if counting fails, so that the page can be shown without the count. */
  async now(visit: CountedVisit): Promise<NeedsNow | undefined> {
    const { id, account, findOffer, conditions, questions } = visit
    try {
      const counted = this.#recent(this.#counts, keyOf(visit), async () => {
        const found = this.#recent(this.#conditions, id, conditions)
        return needsOf((await withoutSnoozed(account, found, findOffer())).open)
      })
      // Questions and held messages are not cached, so that an answer is visible immediately.
      return withQuestions(...await Promise.all([counted, questions(), countHeld(account)]))
    } catch (error) {
      this.#deps.log.warn('What needs a person could not be counted', { error })
      return undefined
    }
  }

  /** Caches the count of the conditions that a page has just loaded. */
  found(visit: Pick<CountedVisit, 'id' | 'account'>, open: readonly Condition[]): void {
    this.#counts.set(keyOf(visit), { at: this.#deps.now(), value: Promise.resolve(needsOf(open)) })
  }

  #recent<T>(kept: LruMap<string, Kept<T>>, key: string, find: () => Promise<T>): Promise<T> {
    const at = this.#deps.now()
    const known = kept.get(key)
    if (known && at >= known.at && at - known.at < keptMs) return known.value
    const value = find()
    kept.set(key, { at, value })
    value.catch(() => kept.delete(key))
    return value
  }
}

type Counted = Omit<NeedsNow, 'isUrgent'>

function needsOf(open: readonly Condition[]): Counted {
  return {
    open: countConditions(open),
    mark: open.map(({ kind, subject, level }) => `${kind} ${subject} ${level}`).join('\n'),
  }
}

function withQuestions(
  { open, mark }: Counted,
  questions: readonly Question[],
  { count, isUrgent }: Awaited<ReturnType<typeof countHeld>>,
): NeedsNow {
  const marks = questions.map(({ threadId, seq, deliverySeq }) => `${threadId} ${seq} ${deliverySeq}`)
  return {
    open: open + countQuestions(questions) + count,
    isUrgent,
    mark: [mark, ...marks, `held ${count} ${isUrgent}`].join('\n'),
  }
}

/** The cache key includes the role, because the rows depend on it. */
function keyOf({ id, account }: Pick<CountedVisit, 'id' | 'account'>): string {
  const { userId, role } = callingUser(account.actor)
  return `${id} ${userId} ${role}`
}
