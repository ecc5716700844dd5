import { crossAccountQuery, type Db, query } from '../sql.ts'
import { followed } from './thread-projection.ts'

export type LivePlaces = ReturnType<typeof livePlaces>

/** A message in a thread of an account, with what decides about who may read it. No text. */
export interface LivePlace {
  accountId: string
  threadId: number
  seq: number
  /** When it was stored, in milliseconds since the epoch. */
  at: number
  channelId: string | null
  fromAgentId: string
  /** The recipient; null for a post, and for a message that reached nobody. */
  toAgentId: string | null
}

const position = query<{ seq: number }>(`SELECT seq FROM projections WHERE name = 'threads'`)
// The places of one unit appear with its position, so what is not beyond the position is complete.
const newPlaces = crossAccountQuery<LivePlace>(
  'new places of watched accounts',
  `
  SELECT thread_messages.account_id, thread_messages.thread_id, thread_messages.seq, messages.created_at AS at,
    messages.channel_id, messages.from_agent_id, deliveries.agent_id AS to_agent_id
  FROM json_each(:accounts) AS watched
  CROSS JOIN thread_messages
  CROSS JOIN messages
  LEFT JOIN deliveries
    ON deliveries.message_id = messages.id AND deliveries.sender_account_id = messages.account_id
      AND messages.channel_id IS NULL
  WHERE thread_messages.account_id = watched.value AND thread_messages.seq > :after
    AND thread_messages.seq <= min(${followed}, :upTo) AND messages.seq = thread_messages.seq
  ORDER BY thread_messages.seq LIMIT :limit`,
)

/** Messages that were placed in threads since a position of the log, for the accounts whose pages are open. */
export const livePlaces = (db: Db) => ({
  /** How far messages are placed; negative while all of them are placed again. */
  position: async (): Promise<number> => (await db.one(position))!.seq,
  /** The places of some accounts after a position and up to another one, oldest first, at most `limit`. */
  after: (accounts: string[], after: number, upTo: number, limit: number): Promise<LivePlace[]> =>
    db.all(newPlaces, { accounts: JSON.stringify(accounts), after, upTo, limit }),
})
