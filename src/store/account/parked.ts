/** Messages that were set aside, and putting them back. See docs/delivery.md, "Parked messages". */
import { type AccountDb, query, type Statement, statement } from '../sql.ts'

/** How many messages one unit puts back. */
export const maxRequeued = 500

// The state is written out, not bound: only then may the planner use the partial index.
const isParked = `deliveries.account_id = :account AND deliveries.state = 'parked'`
const isOne = `deliveries.agent_id = :agent AND (:message IS NULL OR deliveries.message_id = :message)`

interface ParkedMessage {
  id: string
  alias: string
  fromAlias: string | null
  storedAt: number
  parkedAt: number
  returns: number
}

// Who wrote from another account is told to its recipient alone.
const list = query<ParkedMessage>(`
  SELECT deliveries.message_id AS id, agents.alias, messages.from_alias, deliveries.created_at AS stored_at,
    deliveries.read_at AS parked_at, deliveries.release_count AS returns
  FROM deliveries
  JOIN agents ON agents.account_id = deliveries.account_id AND agents.id = deliveries.agent_id
    AND agents.deleted_at IS NULL
  LEFT JOIN messages ON messages.account_id = :account AND messages.id = deliveries.message_id
    AND messages.account_id = deliveries.sender_account_id
  WHERE ${isParked}
  ORDER BY deliveries.read_at DESC LIMIT :limit`)
const ofAgent = query<{ n: number }>(`SELECT count(*) AS n FROM deliveries WHERE ${isParked} AND ${isOne}`)
// Setting the count of releases wakes the readers of other processes.
const requeue = statement(`
  UPDATE deliveries SET state = 'unread', lease_id = NULL, read_at = NULL, release_count = release_count
  WHERE account_id = :account AND seq IN (
    SELECT seq FROM deliveries WHERE ${isParked} AND ${isOne} ORDER BY seq LIMIT ${maxRequeued})
  RETURNING message_id`)

export const parked = {
  reads: (account: AccountDb) => ({
    /**
     * Parked messages of agents that are not deleted, those parked last first. `fromAlias` is null for a sender of
     * another account.
     */
    list: (limit: number) => account.all(list, { limit }),
    /** How many messages of an agent are parked, or whether the one of this id is. */
    count: async (agent: string, message: string | null = null) => (await account.one(ofAgent, { agent, message }))!.n,
  }),
  changes: (account: AccountDb) => ({
    /** Make parked messages of an agent unread, or the one of this id; at most 500. Returns the column `message_id`. */
    requeue: (agent: string, message: string | null): Statement => ({
      ...account.bind(requeue, { agent, message }),
      rows: maxRequeued,
    }),
  }),
}
