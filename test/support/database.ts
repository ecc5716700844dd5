/** Direct database access for tests, over the grid's connection. */
import type { InValue, Row } from '@libsql/client'
import type { TestAccount, TestAgent, TestGrid } from './grid.ts'
import { accountTables, globalTables } from './tripwire.ts'

/** Puts an agent on trial, or changes its trial. */
export async function updateTrial(
  grid: TestGrid,
  agent: TestAgent,
  { used, max, expiresAt }: { used: number; max: number; expiresAt: number },
): Promise<void> {
  await grid.store.write([grid.acme, grid.evil].map((account) => ({
    sql: `INSERT INTO trials (account_id, agent_id, used, max, expires_at)
      SELECT account_id, id, ?, ?, ? FROM agents WHERE account_id = ? AND id = ?
      ON CONFLICT DO UPDATE SET used = excluded.used, max = excluded.max, expires_at = excluded.expires_at`,
    args: [used, max, expiresAt, account.id, agent.id],
  })))
}

/** Each account's last dump, and the connection's count of changed rows at that time. */
const dumps = new WeakMap<object, Map<string, { changes: unknown; text: string }>>()

/** Returns every row that an account owns or has sent, as text, for before-and-after comparisons. */
export async function dump(grid: TestGrid, account: TestAccount, without: string[] = []): Promise<string> {
  // Excluded, because it is updated every second and could change between two dumps.
  await grid.store.drained()
  const known = dumps.get(grid.store) ?? new Map()
  dumps.set(grid.store, known)
  const key = [account.id, ...without].join()
  // All writes use this connection, and most compared calls change nothing.
  const [{ changes }] = await rows(grid, 'SELECT total_changes() AS changes')
  const last = known.get(key)
  if (last?.changes === changes) return last.text
  const own = accountTables.filter((table) => !without.includes(table))
    .map((table) => `SELECT * FROM "${table}" WHERE "account_id" = ?`)
  const others = ['SELECT * FROM v_deliveries WHERE sender_account_id = ?', 'SELECT * FROM accounts WHERE id = ?']
  const tables = await grid.store.write([...own, ...others].map((sql) => ({ sql, args: [account.id], rows: 0 })))
  const text = JSON.stringify(tables.map((found) => found.map((row) => JSON.stringify(row)).sort()), null, 1)
  known.set(key, { changes, text })
  return text
}

/** Returns every row of every table, as text. */
export async function wholeDump(grid: TestGrid): Promise<string> {
  const tables = await Promise.all([grid.acme, grid.evil].map((account) => dump(grid, account)))
  const others = await Promise.all(globalTables.map((table) => rows(grid, `SELECT * FROM "${table}"`)))
  return JSON.stringify([tables, others], null, 1)
}

/** Runs a statement and returns its rows. Statements on account tables must name the account here, too. */
export async function rows(grid: TestGrid, sql: string, args: InValue[] = []): Promise<Row[]> {
  const [found] = await grid.store.write([{ sql, args, rows: 0 }])
  return found
}

/** Stores this many more copies of the newest attempt of a kind, because limits are too high to reach with requests. */
export async function repeatAttempts(grid: TestGrid, kind: string, times: number): Promise<void> {
  const sql = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO attempts (id, kind, subject, created_at)
    SELECT one.id || '-' || n.i, one.kind, one.subject, one.created_at FROM n,
      (SELECT * FROM attempts WHERE kind = ? ORDER BY created_at DESC LIMIT 1) AS one`
  await rows(grid, sql, [times, kind])
}
