/**
 * Finds the waits that new rows of the log wake: agents with new messages, and waits for an agent, a person or a task.
 * These queries return only ids.
 */
import { agentOf } from '../account/inbox-message.ts'
import { crossAccountQuery, type Db, query } from '../sql.ts'

const recipients = crossAccountQuery<{ id: string }>(
  'recipients of new messages',
  `
  SELECT DISTINCT ${agentOf()} AS id FROM messages
  CROSS JOIN deliveries ON deliveries.seq = messages.seq
  WHERE messages.seq > :after AND messages.seq <= :upTo AND NOT deliveries.quiet`,
)
const subjects = query<{ id: string }>('SELECT DISTINCT subject AS id FROM log WHERE seq > :after AND seq <= :upTo')

export type Waits = ReturnType<typeof waits>

export const waits = (db: Db) => ({
  recipients: async (batch: { after: number; upTo: number }) => (await db.all(recipients, batch)).map(({ id }) => id),
  subjects: async (batch: { after: number; upTo: number }) => (await db.all(subjects, batch)).map(({ id }) => id),
})
