import { gt, sql } from 'drizzle-orm'
import { deliveries } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, p } from '../bound.ts'

/** Most deliveries of one look. */
const most = 1_000

export type Arrivals = ReturnType<typeof prepareArrivals>

/** Which mailboxes got something, in the order of storing: ids and nothing else leaves this look-up. */
export function prepareArrivals(db: Db, crossings: Crossings) {
  const newest = db.select({ seq: sql<number | null>`max(${deliveries.seq})` }).from(deliveries).prepare()
  const after = db.select({ seq: deliveries.seq, agentId: deliveries.agentId }).from(deliveries)
    .where(gt(deliveries.seq, p('seq'))).orderBy(deliveries.seq).limit(most).prepare()

  crossings.set(newest.getQuery().sql, 'newest delivery')
  crossings.set(after.getQuery().sql, 'new deliveries')

  return {
    /** The `seq` of the newest delivery; 0 before the first. */
    newest: async () => (await ask(newest))[0].seq ?? 0,
    /** The recipients of what was stored after `seq`; the rest is asked for again unless it `isAll`. */
    async after(seq: number) {
      const rows = await ask(after, { seq })
      return {
        newest: rows.at(-1)?.seq ?? seq,
        agentIds: new Set(rows.map(({ agentId }) => agentId)),
        isAll: rows.length < most,
      }
    },
  }
}
