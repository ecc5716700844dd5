/** Polls the database for what concerns local waits: deliveries by other processes, and wake signals by any process. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../lib/log.ts'
import type { Notifier } from '../lib/notifier.ts'
import { second } from '../lib/time.ts'
import { crossAccountQuery, type Db } from './sql.ts'

/** How many rows of each table one poll returns. */
const maxRows = 1_000

type Kind = keyof FeedPosition

export type NewDeliveries = ReturnType<typeof newDeliveries>

/** The `seq` of the newest known delivery, wake signal and event of a task; 0 before the first. */
interface FeedPosition {
  delivery: number
  signal: number
  event: number
}

const newest = crossAccountQuery<FeedPosition>(
  'newest delivery',
  `
  SELECT coalesce((SELECT max(seq) FROM deliveries), 0) AS delivery,
    coalesce((SELECT max(seq) FROM log), 0) AS signal,
    coalesce((SELECT max(seq) FROM task_events), 0) AS event`,
)
// One statement, because on a remote database each is a round trip.
const after = crossAccountQuery<{ kind: Kind; seq: number; id: string }>(
  'new deliveries',
  `
  SELECT * FROM (
    SELECT 'delivery' AS kind, seq, agent_id AS id FROM deliveries
    WHERE seq > :delivery ORDER BY seq LIMIT ${maxRows})
  UNION ALL
  SELECT * FROM (
    SELECT 'signal' AS kind, seq, subject AS id FROM log WHERE seq > :signal ORDER BY seq LIMIT ${maxRows})
  UNION ALL
  SELECT * FROM (
    SELECT 'event' AS kind, seq, task_id AS id FROM task_events WHERE seq > :event ORDER BY seq LIMIT ${maxRows})`,
)

/** Whom to wake: agents, and followers of tasks. Only ids leave these queries. */
export const newDeliveries = (db: Db) => ({
  newest: async (): Promise<FeedPosition> => (await db.one(newest))!,
  /** Agents and tasks to wake after a position, and the new position. There is more to fetch unless `isComplete`. */
  async after(position: FeedPosition) {
    const rows = await db.all(after, { ...position })
    const [deliveries, signals, events] = (['delivery', 'signal', 'event'] as const)
      .map((kind) => rows.filter((row) => row.kind === kind))
    return {
      position: {
        delivery: deliveries.at(-1)?.seq ?? position.delivery,
        signal: signals.at(-1)?.seq ?? position.signal,
        event: events.at(-1)?.seq ?? position.event,
      },
      agentIds: new Set([...deliveries, ...signals].map(({ id }) => id)),
      taskIds: new Set(events.map(({ id }) => id)),
      isComplete: [deliveries, signals, events].every(({ length }) => length < maxRows),
    }
  },
})

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
