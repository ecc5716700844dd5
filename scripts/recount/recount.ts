/** Compares every derived table and counter of a database with values recomputed from the source tables. */
import { type Config, createClient } from '@libsql/client'
import { counts } from './counts.ts'

/** Maximum number of reported differences per count. */
const maxNamed = 100

/**
 * The differences as lines of text, at most a hundred per count. Without history, the counts of past events are
 * omitted. These counts differ after messages were blocked, removed or moved, or after the clock jumped.
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
    const [inTable, fromMessages] = [await valuesOf(stored), await valuesOf(counted)]
    const differing = [...new Set([...inTable.keys(), ...fromMessages.keys()])]
      .filter((what) => inTable.get(what) !== fromMessages.get(what))
    differences.push(
      ...differing.slice(0, maxNamed).map((what) =>
        `${name}: ${what}: stored ${inTable.get(what) ?? 'nothing'}, counted ${fromMessages.get(what) ?? 'nothing'}`
      ),
    )
  }
  client.close()
  return differences

  // Values are compared in JavaScript, because SQLite would compare each row with every other one.
  async function valuesOf(sql: string): Promise<Map<string, string>> {
    const { rows } = await client.execute(
      `SELECT what, CAST(value AS TEXT) AS value FROM (${sql}) WHERE value IS NOT NULL`,
    )
    return new Map(rows.map(({ what, value }) => [String(what), String(value)]))
  }
}
