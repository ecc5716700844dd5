/** Mail that other processes on the same database stored, noticed while somebody here waits. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../deps.ts'
import { second } from '../lib/time.ts'
import type { Wakes } from '../lib/wakes.ts'
import type { Arrivals } from './global/arrivals.ts'

/** How often the database is asked, and how often while it does not answer. */
const pollMs = 200
const retryMs = second

/**
 * Wake the recipients of what is newly stored, by whomever, for as long as anybody waits.
 * One cheap read per process and interval, however many wait here; nobody waiting, nothing asked.
 */
export async function watchArrivals(
  arrivals: Arrivals,
  wakes: Wakes,
  { log, ended }: { log: Log; ended: AbortSignal },
): Promise<void> {
  let seen: number | undefined
  while (wakes.areHeard && !ended.aborted) {
    const pause = await look().catch((error) => {
      log.warn('Mail of other processes could not be looked for', { error })
      return retryMs
    })
    if (pause > 0) await sleep(pause, undefined, { ref: false, signal: ended }).catch(() => {})
  }

  /** What is left to wait before the next look. */
  async function look(): Promise<number> {
    if (seen === undefined) {
      seen = await arrivals.newest()
      // Whoever looked into its mailbox before this was known may have missed what came in between.
      wakes.wakeAll()
      return pollMs
    }
    const { newest, agentIds, isAll } = await arrivals.after(seen)
    seen = newest
    wakes.wake(agentIds)
    return isAll ? pollMs : 0
  }
}
