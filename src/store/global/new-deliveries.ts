import { gt, sql } from 'drizzle-orm'
import { deliveries, taskEvents, wakeSignals } from '../../../db/schema.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** How many rows of each table one poll returns. */
const maxRows = 1_000

type Kind = keyof FeedPosition

export type NewDeliveries = ReturnType<typeof prepareNewDeliveries>

/** The `seq` of the newest known delivery, wake signal and event of a task; 0 before the first. */
export interface FeedPosition {
  delivery: number
  signal: number
  event: number
}

/**
 * Whom to wake: agents with a new delivery, agents with a wake signal, and those who follow a task with a new event. Only
 * ids of agents and tasks leave these queries.
 */
export function prepareNewDeliveries(db: Db, crossAccountQueries: CrossAccountQueries) {
  const newest = db.select({
    delivery: sql<number>`coalesce((SELECT max(${deliveries.seq}) FROM ${deliveries}), 0)`,
    signal: sql<number>`coalesce((SELECT max(${wakeSignals.seq}) FROM ${wakeSignals}), 0)`,
    event: sql<number>`coalesce((SELECT max(${taskEvents.seq}) FROM ${taskEvents}), 0)`,
  }).from(sql`(SELECT 1)`).prepare()

  const newDeliveries = db
    .select({ kind: sql<Kind>`'delivery'`.as('kind'), seq: deliveries.seq, id: deliveries.agentId })
    .from(deliveries).where(gt(deliveries.seq, p('delivery'))).orderBy(deliveries.seq).limit(maxRows)
    .as('new_deliveries')
  const newSignals = db
    .select({ kind: sql<Kind>`'signal'`.as('kind'), seq: wakeSignals.seq, id: wakeSignals.agentId })
    .from(wakeSignals).where(gt(wakeSignals.seq, p('signal'))).orderBy(wakeSignals.seq).limit(maxRows)
    .as('new_signals')
  const newEvents = db
    .select({ kind: sql<Kind>`'event'`.as('kind'), seq: taskEvents.seq, id: taskEvents.taskId })
    .from(taskEvents).where(gt(taskEvents.seq, p('event'))).orderBy(taskEvents.seq).limit(maxRows)
    .as('new_events')
  // One statement, because on a remote database each is a round trip.
  const after = db.select().from(newDeliveries).unionAll(db.select().from(newSignals))
    .unionAll(db.select().from(newEvents)).prepare()

  crossAccountQueries.set(newest.getQuery().sql, 'newest delivery')
  crossAccountQueries.set(after.getQuery().sql, 'new deliveries')

  return {
    newest: async (): Promise<FeedPosition> => (await runQuery(newest))[0],
    /** Agents and tasks to wake after a position, and the new position. There is more to fetch unless `isComplete`. */
    async after(position: FeedPosition) {
      const rows = await runQuery(after, { ...position })
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
  }
}
