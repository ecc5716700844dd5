/** Due scheduled messages of all accounts. See docs/delivery.md, "Sending later". */
import { crossAccountQuery, type Db } from '../sql.ts'

const due = crossAccountQuery<{ accountId: string; id: string; agentId: string }>(
  'messages to be sent now',
  `SELECT account_id, id, agent_id FROM scheduled_messages WHERE send_at <= :now ORDER BY send_at LIMIT :limit`,
)

export const scheduled = (db: Db) => ({
  due: (now: number, limit: number) => db.all(due, { now, limit }),
})
