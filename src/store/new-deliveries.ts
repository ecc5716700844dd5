/** What other processes on the same database did that concerns who waits here, and ends of credentials by any. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../deps.ts'
import { second } from '../lib/time.ts'
import type { Wakes } from '../lib/notifier.ts'
import type { Arrivals, Place } from './global/new-deliveries.ts'

/** How often the database is asked, and how often while it does not answer. */
const pollMs = 200
const retryMs = second

/**
 * A watch that wakes the recipients of what is newly stored, by whomever, and agents whose credential ended, for as
 * long as anybody waits. One cheap read per process and interval, however many wait here; nobody waiting, nothing asked.
 * `isAlone`: no other process stores mail, and what this one stores it announces itself.
 */
export function arrivalsWatch(
  arrivals: Arrivals,
  wakes: Wakes,
  { log, ended, isAlone }: { log: Log; ended: AbortSignal; isAlone: boolean },
): () => Promise<void> {
  // Calls are few, so those that came while nobody waited are looked through.
  let known: Place | undefined = isAlone ? { mail: Number.MAX_SAFE_INTEGER, calls: 0 } : undefined

  const pause = (ms: number) => sleep(ms, undefined, { ref: false, signal: ended }).catch(() => {})

  return async function watch() {
    if (!isAlone) known = undefined
    while (wakes.areHeard && !ended.aborted) {
      // From one look to the next: a look itself takes a while where many ask.
      const interval = pause(pollMs)
      try {
        const isAll = await look()
        if (isAll) await interval
      } catch (error) {
        log.warn('What other processes did could not be looked for', { error })
        await pause(retryMs)
      }
    }
  }

  /** Whether there was no more than one look shows. */
  async function look(): Promise<boolean> {
    if (known === undefined) {
      known = await arrivals.newest()
      // Whoever looked into its mailbox before this was known may have missed what came in between.
      wakes.wakeAll()
      return true
    }
    const { place, agentIds, isAll } = await arrivals.after(known)
    known = place
    wakes.wake(agentIds)
    return isAll
  }
}
