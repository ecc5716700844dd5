/** Pending work of all accounts, for metrics. */
import { isOpen, outboxKinds, outboxTables } from '../../store/global/outboxes.ts'
import { crossAccountQuery, type Db } from '../../store/sql.ts'

/** Pending work in the database, across all accounts. */
export interface WaitingFigures {
  unread: number
  /** Time of the oldest unread message, in milliseconds since the epoch. Null if there is none. */
  waitingSince: number | null
  leases: number
  /** Number of outboxes to external servers that are due. */
  dueOutboxes: number
}

/** Maximum number of inboxes that are searched for the oldest message. */
const maxInboxes = 10_000

const dueOutboxes = outboxKinds.map((kind) =>
  `(SELECT count(*) FROM ${outboxTables[kind]} AS outbox WHERE outbox.due_at <= :now AND ${isOpen[kind]})`
)

const waiting = crossAccountQuery<WaitingFigures>(
  'how much waits',
  `SELECT (SELECT coalesce(sum(unread), 0) FROM agent_numbers) AS unread,
    (SELECT min(oldest) FROM (
      SELECT (SELECT first.created_at FROM deliveries AS first WHERE first.inbox = agent_numbers.n
        AND first.state = 'unread' ORDER BY first.seq LIMIT 1) AS oldest
      FROM agent_numbers WHERE agent_numbers.unread > 0 LIMIT ${maxInboxes})) AS waiting_since,
    (SELECT count(*) FROM leases) AS leases,
    ${dueOutboxes.join(' + ')} AS due_outboxes`,
)

export const figures = (db: Db) => ({
  /** Pending work across all accounts. Reads one row per agent of the grid. */
  waiting: async (now: number): Promise<WaitingFigures> => (await db.one(waiting, { now }))!,
})
