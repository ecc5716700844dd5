/** Due scheduled messages of all accounts. See docs/delivery.md, "Sending later". */
import { crossAccountQuery, type Db } from '../sql.ts'

const due = crossAccountQuery<{ accountId: string; id: string; agentId: string }>(
  'messages to be sent now',
  `SELECT account_id, id, agent_id FROM (
    SELECT account_id, id, agent_id, send_at, row_number() OVER (PARTITION BY account_id ORDER BY send_at) AS n
    FROM scheduled_messages INDEXED BY scheduled_messages_due WHERE send_at <= :now)
  WHERE n <= :ofAccount ORDER BY send_at LIMIT :limit`,
)

export const scheduled = (db: Db) => ({
  /** Messages in order of time, at most `ofAccount` per account. */
  due: (now: number, { limit, ofAccount }: { limit: number; ofAccount: number }) =>
    db.all(due, { now, limit, ofAccount }),
})
