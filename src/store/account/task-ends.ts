/** The two ends of a task: its client, whose account it belongs to, and its recipient. */
import type { tasks } from '../../../db/schema.ts'

export type TaskState = typeof tasks.$inferSelect.state
export type TaskMode = typeof tasks.$inferSelect.mode

export type TaskEnd = 'client' | 'recipient'

/** The end of the client, and that of the recipient: conditions on `tasks`. The agent is bound as `agent`. */
export const taskEnds = {
  client: `(tasks.account_id = :account AND tasks.client_agent_id = :agent)`,
  recipient: `(tasks.recipient_account_id = :account AND tasks.recipient_agent_id = :agent)`,
}

/**
 * A query of the newest task that an agent, the row `agents`, waits for `recipient` with, an agent of the account; no row
 * if there is none. It is read with the recipient of a message, so that a send need not look whether it answers a task.
 */
export function openTaskFor(recipient: string): string {
  return `SELECT tasks.id FROM tasks
    WHERE tasks.recipient_account_id = :account AND tasks.recipient_agent_id = ${recipient}
      AND tasks.account_id = agents.account_id AND tasks.client_agent_id = agents.id
      AND tasks.expires_at IS NOT NULL
    ORDER BY tasks.id DESC LIMIT 1`
}
