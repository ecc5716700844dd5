import { gt, sql } from 'drizzle-orm'
import { deliveries, wakeCalls } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, p } from '../driver/binding.ts'

/** Most rows of each kind in one look. */
const most = 1_000

export type Arrivals = ReturnType<typeof prepareArrivals>

/** How far somebody has looked: the `seq` of the newest delivery and of the newest call that are known. */
export interface Place {
  mail: number
  calls: number
}

/** Whom to wake: who got mail, and who is called for another reason. Ids of agents and nothing else leaves this look-up. */
export function prepareArrivals(db: Db, crossings: Crossings) {
  const newest = db.select({
    mail: sql<number>`coalesce((SELECT max(${deliveries.seq}) FROM ${deliveries}), 0)`,
    calls: sql<number>`coalesce((SELECT max(${wakeCalls.seq}) FROM ${wakeCalls}), 0)`,
  }).from(sql`(SELECT 1)`).prepare()

  const mail = db.select({ isMail: sql<number>`1`.as('is_mail'), seq: deliveries.seq, agentId: deliveries.agentId })
    .from(deliveries).where(gt(deliveries.seq, p('mail'))).orderBy(deliveries.seq).limit(most).as('mail')
  const calls = db.select({ isMail: sql<number>`0`.as('is_mail'), seq: wakeCalls.seq, agentId: wakeCalls.agentId })
    .from(wakeCalls).where(gt(wakeCalls.seq, p('calls'))).orderBy(wakeCalls.seq).limit(most).as('calls')
  // One statement, because on a remote database each is a round trip.
  const after = db.select().from(mail).unionAll(db.select().from(calls)).prepare()

  crossings.set(newest.getQuery().sql, 'newest delivery')
  crossings.set(after.getQuery().sql, 'new deliveries')

  return {
    /** Where everything is known; 0 where nothing ever came. */
    newest: async (): Promise<Place> => (await ask(newest))[0],
    /** Whom to wake for what was stored after a place; the rest is asked for again unless it `isAll`. */
    async after(place: Place) {
      const rows = await ask(after, { ...place })
      const [mail, calls] = [1, 0].map((kind) => rows.filter(({ isMail }) => isMail === kind))
      return {
        place: { mail: mail.at(-1)?.seq ?? place.mail, calls: calls.at(-1)?.seq ?? place.calls },
        agentIds: new Set(rows.map(({ agentId }) => agentId)),
        isAll: mail.length < most && calls.length < most,
      }
    },
  }
}
