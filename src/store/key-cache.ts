/**
 * Keys that were looked up, in memory, for a local file: no other process changes it. Everything is forgotten after each
 * commit that has any statement but those of message traffic, before the commit is answered. So when a caller hears that
 * a key was revoked, the next request with the key looks at the database.
 *
 * See docs/security.md, "Keys in memory".
 */
import { RecentMap } from '../lib/bounded-maps.ts'
import type { Statement } from './sql.ts'

/** How many keys are kept: those used last, and up to as many others. */
const maxKept = 5_000

/** `Found` is what a key is looked up for. */
export class KeyCache<Found extends { grantId: string | null }> {
  #kept = new RecentMap<string, Found>(maxKept)

  /** What a key with this hash stands for, from memory or by `read`. */
  async find(hash: string, read: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const known = this.#kept.get(hash)
    if (known) return known
    // A query that began before a commit ended may find what was there before. Then the map is another one when it ends.
    const kept = this.#kept
    const found = await read()
    // A key with a grant is not kept, because the grant expires by itself.
    if (found && found.grantId === null) kept.set(hash, found)
    return found
  }

  /** Called after each commit, also if it failed. */
  committed(statements: readonly Statement[]): void {
    if (!statements.every(({ isTraffic }) => isTraffic)) this.#kept = new RecentMap(maxKept)
  }
}
