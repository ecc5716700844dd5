/** Compares every derived table and counter of a database with what follows from the raw tables. */
import { type Config, createClient } from '@libsql/client'
import { counts } from './counts.ts'

/**
 * The differences as lines of text, of each count the first hundred. Without history, the
 * counts of what happened are left out: they differ once messages were blocked, removed or moved, or the clock jumped.
 */
export async function recount(database: Config, { withHistory = true } = {}): Promise<string[]> {
  const client = createClient(database)
  const differences: string[] = []
  for (const { name, stored, counted, setup, countsHistory } of counts) {
    if (!withHistory && countsHistory) continue
    if (setup !== undefined) {
      if (!database.url.startsWith('file:')) continue
      await client.execute(setup)
    }
    const { rows } = await client.execute(`
      WITH stored (what, value) AS MATERIALIZED (SELECT what, CAST(value AS TEXT) FROM (${stored})),
        counted (what, value) AS MATERIALIZED (SELECT what, CAST(value AS TEXT) FROM (${counted}))
      SELECT coalesce(stored.what, counted.what) AS what, stored.value AS stored, counted.value AS counted
      FROM stored FULL JOIN counted ON counted.what = stored.what
      WHERE stored.value IS NOT counted.value LIMIT 100`)
    differences.push(
      ...rows.map(({ what, stored, counted }) =>
        `${name}: ${what}: stored ${stored ?? 'nothing'}, counted ${counted ?? 'nothing'}`
      ),
    )
  }
  client.close()
  return differences
}
