/** The processes that serve this database, and the leases they hold. */
import { eq, isNull, lte, or, sql } from 'drizzle-orm'
import { instances, leases } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** How many leases one query returns. */
const maxLeases = 1_000

export function prepareInstances(db: Db, crossAccountQueries: CrossAccountQueries) {
  const all = db.select({ id: instances.id, heartbeats: instances.heartbeats }).from(instances).prepare()
  const heartbeat = db.insert(instances).values({ id: p('id'), heartbeats: p('heartbeats'), createdAt: p('at') })
    .onConflictDoUpdate({ target: instances.id, set: { heartbeats: sql`excluded.heartbeats` } }).toSQL()
  const remove = db.delete(instances).where(eq(instances.id, p('id'))).toSQL()

  const inFlight = db.select({
    accountId: leases.accountId,
    agentId: leases.agentId,
    id: leases.id,
    holder: leases.holder,
    createdAt: leases.createdAt,
    expiresAt: leases.expiresAt,
  }).from(leases).where(or(isNull(leases.expiresAt), lte(leases.expiresAt, p('now'))))
    .orderBy(leases.createdAt).limit(maxLeases).prepare()
  crossAccountQueries.set(inFlight.getQuery().sql, 'leases in flight')

  return {
    all: () => runQuery(all),
    /** Record the heartbeat of a process: a number that rises each time. */
    heartbeat: (id: string, heartbeats: number, at: number): Statement => bind(heartbeat, { id, heartbeats, at }),
    remove: (id: string): Statement => bind(remove, { id }),
    /**
     * Leases of every account that have no expiry, because they end with their holder, or have expired at `now`. Oldest
     * first, at most 1,000. Only ids and times leave this query.
     */
    leases: (now: number) => runQuery(inFlight, { now }),
  }
}
