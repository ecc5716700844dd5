/** Who is at the agents of all accounts, for the processes of a remote database. See `presence.ts` of the store. */
import { and, eq, gt, isNull, lte, notExists, sql } from 'drizzle-orm'
import { instances, presence } from '../../../db/schema.ts'
import { bind, databaseTime, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** How many rows one poll returns. */
export const maxPolledPresence = 5_000
/** About how many rows of one process there are. */
const rowsOfHolder = 500

export type GlobalPresence = ReturnType<typeof preparePresence>

export function preparePresence(db: Db, crossAccountQueries: CrossAccountQueries) {
  const changed = db.select().from(presence).where(gt(presence.changedAt, p('after')))
    .orderBy(presence.changedAt).limit(maxPolledPresence).prepare()
  // As in the partial index.
  const isSomebody = sql`(attended IS NOT NULL OR runner IS NOT NULL OR is_waiting = 1 OR leased_until > 0)`
  const alive = db.select({ one: sql`1` }).from(instances).where(eq(instances.id, presence.holder))
  const gone = db.selectDistinct({ holder: presence.holder }).from(presence).where(and(isSomebody, notExists(alive)))
    .prepare()
  const end = db.update(presence)
    .set({ attended: null, runner: null, isWaiting: false, leasedUntil: 0, changedAt: databaseTime })
    .where(and(isSomebody, eq(presence.holder, p('holder')))).toSQL()
  const old = db.select({ row: sql`rowid` }).from(presence).where(and(
    isNull(presence.attended),
    isNull(presence.runner),
    eq(presence.isWaiting, sql`0`),
    lte(presence.leasedUntil, p('until')),
    lte(presence.changedAt, p('until')),
  )).limit(p('limit'))
  const removeOld = db.delete(presence).where(sql`rowid IN ${old}`).returning({ id: presence.agentId }).toSQL()
  crossAccountQueries.set(changed.getQuery().sql, 'changed presence of agents')
  crossAccountQueries.set(gone.getQuery().sql, 'presence at processes that are gone')
  crossAccountQueries.set(end.sql, 'presence at a process that is gone')
  crossAccountQueries.set(removeOld.sql, 'old presence')

  return {
    /** What was stored after a time of the database, the oldest first. */
    after: (after: number) => runQuery(changed, { after }),
    /** The processes that are gone and did not say who left with them. */
    gone: async () => (await runQuery(gone)).map(({ holder }) => holder),
    /** Nobody is at an agent through this process any more. */
    end: (holder: string): Statement => ({ ...bind(end, { holder }), rows: rowsOfHolder }),
    /** Remove up to `limit` rows that have named nobody since then. Returns a row for each. */
    removeOld: (until: number, limit: number): Statement => ({ ...bind(removeOld, { until, limit }), rows: limit }),
  }
}
