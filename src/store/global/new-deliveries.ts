import { gt, sql } from 'drizzle-orm'
import { deliveries, wakeSignals } from '../../../db/schema.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** How many rows of each table one poll returns. */
const maxRows = 1_000

export type NewDeliveries = ReturnType<typeof prepareNewDeliveries>

/** The `seq` of the newest known delivery and of the newest known wake signal; 0 before the first. */
export interface FeedPosition {
  delivery: number
  signal: number
}

/** Agents to wake: those with a new delivery, and those with a wake signal. Only agent ids leave these queries. */
export function prepareNewDeliveries(db: Db, crossAccountQueries: CrossAccountQueries) {
  const newest = db.select({
    delivery: sql<number>`coalesce((SELECT max(${deliveries.seq}) FROM ${deliveries}), 0)`,
    signal: sql<number>`coalesce((SELECT max(${wakeSignals.seq}) FROM ${wakeSignals}), 0)`,
  }).from(sql`(SELECT 1)`).prepare()

  const newDeliveries = db
    .select({ isDelivery: sql<number>`1`.as('is_delivery'), seq: deliveries.seq, agentId: deliveries.agentId })
    .from(deliveries).where(gt(deliveries.seq, p('delivery'))).orderBy(deliveries.seq).limit(maxRows)
    .as('new_deliveries')
  const newSignals = db
    .select({ isDelivery: sql<number>`0`.as('is_delivery'), seq: wakeSignals.seq, agentId: wakeSignals.agentId })
    .from(wakeSignals).where(gt(wakeSignals.seq, p('signal'))).orderBy(wakeSignals.seq).limit(maxRows)
    .as('new_signals')
  // One statement, because on a remote database each is a round trip.
  const after = db.select().from(newDeliveries).unionAll(db.select().from(newSignals)).prepare()

  crossAccountQueries.set(newest.getQuery().sql, 'newest delivery')
  crossAccountQueries.set(after.getQuery().sql, 'new deliveries')

  return {
    newest: async (): Promise<FeedPosition> => (await runQuery(newest))[0],
    /** Agents to wake after a position, and the new position. There is more to fetch unless `isComplete`. */
    async after(position: FeedPosition) {
      const rows = await runQuery(after, { ...position })
      const [deliveries, signals] = [1, 0].map((kind) => rows.filter(({ isDelivery }) => isDelivery === kind))
      return {
        position: {
          delivery: deliveries.at(-1)?.seq ?? position.delivery,
          signal: signals.at(-1)?.seq ?? position.signal,
        },
        agentIds: new Set(rows.map(({ agentId }) => agentId)),
        isComplete: deliveries.length < maxRows && signals.length < maxRows,
      }
    },
  }
}
