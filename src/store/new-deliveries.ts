/** Polls the database for what concerns local waits: deliveries by other processes, and wake signals by any process. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../lib/log.ts'
import type { Notifier } from '../lib/notifier.ts'
import { second } from '../lib/time.ts'
import type { FeedPosition, NewDeliveries } from './global/new-deliveries.ts'

/** How often the database is polled, and how often while it does not answer. */
const pollMs = 200
const retryMs = second

/**
 * Makes a watch: it notifies the recipients of new deliveries and the agents with a wake signal, as long as the
 * notifier has subscribers. It runs one cheap query per interval, however many subscribers there are.
 * `isAlone`: no other process writes deliveries, and this process notifies its own recipients at the commit.
 */
export function watchNewDeliveries(
  newDeliveries: NewDeliveries,
  notifier: Notifier,
  { log, ended, isAlone }: { log: Log; ended: AbortSignal; isAlone: boolean },
): () => Promise<void> {
  let known: FeedPosition | undefined

  const pause = (ms: number) => sleep(ms, undefined, { ref: false, signal: ended }).catch(() => {})

  return async function watch() {
    if (!isAlone) known = undefined
    while (notifier.hasSubscribers && !ended.aborted) {
      // Measured from poll to poll, because a poll itself may take a while.
      const interval = pause(pollMs)
      try {
        const isComplete = await poll()
        if (isComplete) await interval
      } catch (error) {
        log.warn('New deliveries of other processes could not be polled', { error })
        await pause(retryMs)
      }
    }
  }

  /** Resolves to false if there is more to fetch. */
  async function poll(): Promise<boolean> {
    if (known === undefined) {
      known = await newDeliveries.newest()
      // This process notifies of its own deliveries. Wake signals are few, so those from before the first watch are read.
      if (isAlone) known = { ...known, delivery: Number.MAX_SAFE_INTEGER, signal: 0 }
      // A subscriber that read before this position was known may have missed something.
      if (!isAlone || notifier.hasWatchers) notifier.notifyAll()
      return !isAlone
    }
    const { position, agentIds, taskIds, isComplete } = await newDeliveries.after(known)
    known = position
    notifier.notify(agentIds)
    notifier.wake(taskIds)
    return isComplete
  }
}
