/** Direct database access for tests, on the grid's connection. */
import type { InValue, Row } from '@libsql/client'
import type { TestAccount, TestAgent, TestGrid } from './grid.ts'
import { accountTables, globalTables } from './tripwire.ts'

/** Puts an agent on trial, or changes an existing trial. */
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

/** Each account's last dump, and the number of changed rows on the connection at that time. */
const dumps = new WeakMap<object, Map<string, { changes: unknown; text: string }>>()

/** Returns every row that an account owns or has sent, as text. Tests compare dumps from before and after a call. */
export async function dump(grid: TestGrid, account: TestAccount, without: string[] = []): Promise<string> {
  // Waits for queued writes, because they could change the database between two dumps.
  await grid.store.drained()
  const known = dumps.get(grid.store) ?? new Map()
  dumps.set(grid.store, known)
  const key = [account.id, ...without].join()
  // All writes use this connection, and most compared calls change nothing, so the last dump is often still valid.
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

/** Runs a statement and returns its rows. The tripwire applies: statements on account tables must name the account. */
export async function rows(grid: TestGrid, sql: string, args: InValue[] = []): Promise<Row[]> {
  const [found] = await grid.store.write([{ sql, args, rows: 0 }])
  return found
}

/** Stores `times` more copies of the newest attempt of a kind, because limits are too high to reach with requests. */
export async function repeatAttempts(grid: TestGrid, kind: string, times: number): Promise<void> {
  const sql = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO attempts (id, kind, subject, created_at)
    SELECT one.id || '-' || n.i, one.kind, one.subject, one.created_at FROM n,
      (SELECT * FROM attempts WHERE kind = ? ORDER BY created_at DESC LIMIT 1) AS one`
  await rows(grid, sql, [times, kind])
}
