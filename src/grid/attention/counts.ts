/** How much needs a person, for the number beside the navigation. See docs/operations.md, "Attention". */
import { callingUser } from '../../auth/actor.ts'
import { RecentMap } from '../../lib/recent-map.ts'
import { second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { findClaimOffer } from '../accounts/claim.ts'
import { withoutSnoozed } from './attention.ts'
import { type Condition, findConditions } from './conditions.ts'

/** How old what an account's pages show may be. */
const keptMs = 10 * second
const maxKept = 1_000

type VerifiedUser = Parameters<typeof findClaimOffer>[1] & { id: string }

interface Kept<T> {
  at: number
  value: Promise<T>
}

/** The counts of this process. They are computed again after some seconds, once for all who ask meanwhile. */
export class AttentionCounts {
  readonly #store: Store
  readonly #conditions = new RecentMap<string, Kept<Condition[]>>(maxKept)
  readonly #counts = new RecentMap<string, Kept<number>>(maxKept)

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * How many rows the calling user, who is `user`, has open on their page. Undefined if that cannot be found out: a page
   * does without it.
   */
  async open(account: AccountStore, accountId: string, user: VerifiedUser): Promise<number | undefined> {
    const { userId, role } = callingUser(account.actor)
    try {
      return await this.#recent(this.#counts, `${accountId} ${userId} ${role}`, async () => {
        const [conditions, offer] = await Promise.all([
          this.#recent(this.#conditions, accountId, () => findConditions(account)),
          findClaimOffer(this.#store, user),
        ])
        return (await withoutSnoozed(account, conditions, offer)).open.length
      })
    } catch (error) {
      this.#store.deps.log.warn('What needs a person could not be counted', { error })
      return undefined
    }
  }

  /** The count that the page itself has just found. */
  found(account: AccountStore, accountId: string, open: number): void {
    const { userId, role } = callingUser(account.actor)
    this.#counts.set(`${accountId} ${userId} ${role}`, { at: this.#store.deps.now(), value: Promise.resolve(open) })
  }

  #recent<T>(kept: RecentMap<string, Kept<T>>, key: string, find: () => Promise<T>): Promise<T> {
    const at = this.#store.deps.now()
    const known = kept.get(key)
    if (known && at >= known.at && at - known.at < keptMs) return known.value
    const value = find()
    kept.set(key, { at, value })
    value.catch(() => kept.delete(key))
    return value
  }
}
