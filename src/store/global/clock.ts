import { crossAccountQuery, type Db, query, type Statement, statement } from '../sql.ts'

/** Key of the fact: the latest time at which a process of this database knew its clock to be right. */
const clockKey = 'clock'

const stored = query<{ value: string }>(`SELECT value FROM store_facts WHERE key = '${clockKey}'`)
const advance = statement(`
  INSERT INTO store_facts (key, value) VALUES ('${clockKey}', :at)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value
  WHERE CAST(excluded.value AS integer) > CAST(store_facts.value AS integer)`)
const withTrials = crossAccountQuery<{ id: string }>(
  'accounts with trials to end',
  `
  SELECT account_id AS id FROM trials WHERE ended_at IS NULL AND expires_at <= :until
  ORDER BY expires_at LIMIT :limit`,
)

/** The latest time that was stored, to notice a clock that jumped. See docs/delivery.md, "Clocks". */
export const clock = (db: Db) => ({
  /** The stored time; undefined before the first. */
  async storedAt(): Promise<number | undefined> {
    const row = await db.one(stored)
    return row && Number(row.value)
  },
  /** Store a time, if it is later than the stored one. */
  advance: (at: number): Statement => db.bind(advance, { at: String(at) }),
  /** The accounts of the `limit` first trials that expired by `until` and have not ended. */
  async accountsWithTrials(until: number, limit: number) {
    return new Set((await db.all(withTrials, { until, limit })).map(({ id }) => id))
  },
})
