import { and, eq, isNull, lte, sql } from 'drizzle-orm'
import { storeFacts, trials } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** Key of the fact: the latest time at which a process of this database knew its clock to be right. */
const clockKey = 'clock'

/** The latest time that was stored, to notice a clock that jumped. See docs/delivery.md, "Clocks". */
export function prepareClock(db: Db, crossAccountQueries: CrossAccountQueries) {
  const stored = db.select({ value: storeFacts.value }).from(storeFacts).where(eq(storeFacts.key, p('key'))).prepare()
  const advance = db.insert(storeFacts).values({ key: p('key'), value: p('at') }).onConflictDoUpdate({
    target: storeFacts.key,
    set: { value: sql`excluded.value` },
    setWhere: sql`CAST(excluded.value AS integer) > CAST(${storeFacts.value} AS integer)`,
  }).toSQL()

  const withTrials = db.select({ id: trials.accountId }).from(trials)
    .where(and(isNull(trials.endedAt), lte(trials.expiresAt, p('until')))).orderBy(trials.expiresAt).limit(p('limit'))
    .prepare()
  crossAccountQueries.set(withTrials.getQuery().sql, 'accounts with trials to end')

  return {
    /** The stored time; undefined before the first. */
    async storedAt(): Promise<number | undefined> {
      const [row] = await runQuery(stored, { key: clockKey })
      return row && Number(row.value)
    },
    /** Store a time, if it is later than the stored one. */
    advance: (at: number): Statement => bind(advance, { key: clockKey, at: String(at) }),
    /** The accounts of the `limit` first trials that expired by `until` and have not ended. */
    async accountsWithTrials(until: number, limit: number) {
      return new Set((await runQuery(withTrials, { until, limit })).map(({ id }) => id))
    },
  }
}
