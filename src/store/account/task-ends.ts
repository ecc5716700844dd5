/** The two ends of a task: its client, whose account it belongs to, and its recipient. */
import type { tasks } from '../../../db/schema.ts'

export type TaskState = typeof tasks.$inferSelect.state
export type TaskMode = typeof tasks.$inferSelect.mode

export type TaskEnd = 'client' | 'recipient'

/** The client's end and the recipient's end: conditions on `tasks`. The agent is bound as `agent`. */
export const taskEnds = {
  client: `(tasks.account_id = :account AND tasks.client_agent_id = :agent)`,
  recipient: `(tasks.recipient_account_id = :account AND tasks.recipient_agent_id = :agent)`,
}
