/** What tests do behind the grid's back, on its own connection. */
import type { TestAgent, TestGrid } from './grid.ts'

/** Put an agent on trial, or change the trial it has. */
export async function updateTrial(
  grid: TestGrid,
  agent: TestAgent,
  { used, max, expiresAt }: { used: number; max: number; expiresAt: number },
): Promise<void> {
  await grid.store.write([{
    sql: `INSERT INTO trials (account_id, agent_id, used, max, expires_at)
      SELECT account_id, id, ?, ?, ? FROM agents WHERE id = ?
      ON CONFLICT DO UPDATE SET used = excluded.used, max = excluded.max, expires_at = excluded.expires_at`,
    args: [used, max, expiresAt, agent.id],
  }])
}
