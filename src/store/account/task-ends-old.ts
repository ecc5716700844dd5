/** The two ends of a task: its client, whose account it belongs to, and its recipient. */
import { and, eq } from 'drizzle-orm'
import { tasks } from '../../../db/schema.ts'
import { p } from '../driver/binding.ts'
import { inAccount } from '../in-account-old.ts'

export type TaskState = typeof tasks.$inferSelect.state
export type TaskMode = typeof tasks.$inferSelect.mode

/** Which end of a task an agent of the account is. */
export type TaskEnd = 'client' | 'recipient'

/** The end of the client, and that of the recipient: conditions on `tasks`. */
export const taskEnds = {
  client: inAccount(tasks, eq(tasks.clientAgentId, p('agent'))),
  recipient: and(eq(tasks.recipientAccountId, p('account')), eq(tasks.recipientAgentId, p('agent')))!,
}
