/** Scheduled messages. See docs/delivery.md, "Sending later". */
import { addNotices, type Notice } from './notices.ts'
import { type AccountDb, precondition, query, type Statement, statement } from '../sql.ts'

export interface ScheduledMessage {
  id: string
  agentId: string
  recipient: string
  sendAt: number
  createdAt: number
  requestHash: string
}

export interface NewScheduled extends ScheduledMessage {
  /** JSON. */
  content: string
  bytes: number
  key: string | null
}

/** Maximum number and size of scheduled messages. */
export interface ScheduledLimits {
  ofAgent: number
  ofAccount: number
  bytes: number
}

const columns = 'id, agent_id, recipient, send_at, created_at, request_hash'
const ofAgent = 'account_id = :account AND agent_id = :agent'
const byId = query<ScheduledMessage>(`SELECT ${columns} FROM scheduled_messages WHERE ${ofAgent} AND id = :scheduled`)
const byKey = query<ScheduledMessage>(
  `SELECT ${columns} FROM scheduled_messages WHERE ${ofAgent} AND key = :scheduledKey`,
)
const content = query<{ content: string }>(
  `SELECT content FROM scheduled_messages WHERE ${ofAgent} AND id = :scheduled`,
)
const waiting = query<{ ofAgent: number; ofAccount: number; bytes: number }>(`
  SELECT count(CASE WHEN agent_id = :agent THEN 1 END) AS of_agent, count(*) AS of_account,
    coalesce(sum(bytes), 0) AS bytes
  FROM scheduled_messages WHERE account_id = :account`)

const requireRoom = precondition(`
  (SELECT count(*) FROM scheduled_messages WHERE ${ofAgent}) < :ofAgent
  AND (SELECT count(*) < :ofAccount AND coalesce(sum(bytes), 0) + :bytes <= :maxBytes FROM scheduled_messages
    WHERE account_id = :account)`)
const add = statement(`
  INSERT INTO scheduled_messages (account_id, id, agent_id, send_at, recipient, content, bytes, key, request_hash,
    created_at)
  VALUES (:account, :scheduled, :agent, :sendAt, :recipient, :content, :bytes, :scheduledKey, :requestHash, :createdAt)`)
const requireWaiting = precondition(`EXISTS (SELECT 1 FROM scheduled_messages WHERE ${ofAgent} AND id = :scheduled)`)
const remove = statement(`DELETE FROM scheduled_messages WHERE ${ofAgent} AND id = :scheduled`)
const postpone = statement(`UPDATE scheduled_messages SET send_at = :sendAt WHERE ${ofAgent} AND id = :scheduled`)

export const scheduled = {
  reads: (account: AccountDb) => ({
    byId: (agent: string, scheduled: string) => account.one(byId, { agent, scheduled }),
    byKey: (agent: string, scheduledKey: string) => account.one(byKey, { agent, scheduledKey }),
    content: async (agent: string, scheduled: string) => (await account.one(content, { agent, scheduled }))?.content,
    waiting: async (agent: string): Promise<ScheduledLimits> => (await account.one(waiting, { agent }))!,
  }),
  changes: (account: AccountDb) => ({
    /** Fails the unit if a limit is reached. */
    add: (
      { agentId: agent, id: scheduled, key: scheduledKey, ...message }: NewScheduled,
      { bytes: maxBytes, ...limits }: ScheduledLimits,
    ): Statement[] => [
      account.bind(requireRoom, { agent, bytes: message.bytes, maxBytes, ...limits }),
      account.bind(add, { agent, scheduled, scheduledKey, ...message }),
    ],
    /** Fails the unit if the message was already sent or retracted. */
    require: (agent: string, scheduled: string) => account.bind(requireWaiting, { agent, scheduled }),
    remove: (agent: string, scheduled: string) => account.bind(remove, { agent, scheduled }),
    /** Reschedules a message that could not be sent now. */
    postpone: (agent: string, scheduled: string, sendAt: number) =>
      account.bind(postpone, { agent, scheduled, sendAt }),
    notify: (notice: Notice, at: number): Statement[] => addNotices(account, [notice], at),
  }),
}
