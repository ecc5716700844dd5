/** Converts times into log positions. */
import { minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'

/** How far the clocks of processes may differ. */
export const maxClockSkewMs = 5 * minute

/** Returns the part of the log that contains the messages between two times, and these times. */
export async function rangeOf(
  account: AccountStore,
  { after, before }: { after?: number; before?: number },
  position = Number.MAX_SAFE_INTEGER,
): Promise<{ after: number; before: number; from: number; until: number }> {
  const [first, last] = await Promise.all([
    after === undefined ? 0 : positionSince(account, after),
    before === undefined ? position : account.read.search.positionAt(before + maxClockSkewMs),
  ])
  const times = { from: after ?? 0, until: before ?? Number.MAX_SAFE_INTEGER }
  return { after: first, before: Math.min(position, last + 1), ...times }
}

/** Returns a position of the log before all messages since a time, with a margin for clock differences. */
async function positionSince(account: AccountStore, at: number): Promise<number> {
  return at <= 0 ? 0 : await account.read.search.positionAt(at - maxClockSkewMs)
}
