/** The counts on the Home page: new messages by conversation, and hourly totals of refused and failed messages. */
import { hour } from '../../lib/time.ts'
import { type AccountDb, query } from '../sql.ts'
import { ofMessage } from './thread-messages.ts'

/** A conversation's new messages are counted up to this limit. */
export const maxNew = 100

interface New {
  threadId: number
  messages: number
  /** The number of new messages that failed to arrive or belong to a failed task. */
  failed: number
}

const news = query<New>(`
  SELECT thread_id, counts ->> 0 AS messages, counts ->> 1 AS failed FROM (
    SELECT asked.value ->> 'thread' AS thread_id, (
      SELECT json_array(count(*), coalesce(sum(one.has_failed), 0)) FROM (
        SELECT EXISTS (
          SELECT 1 FROM deliveries
          WHERE deliveries.account_id = :account AND deliveries.seq = place.seq
            AND (deliveries.state = 'parked' OR EXISTS (
              SELECT 1 FROM messages CROSS JOIN tasks WHERE messages.seq = deliveries.seq
                AND tasks.account_id = messages.account_id AND tasks.id = deliveries.task_id AND tasks.state = 'failed'))) AS has_failed
        FROM thread_messages AS place
        WHERE place.account_id = :account AND place.thread_id = asked.value ->> 'thread'
          AND place.seq > asked.value ->> 'after'
          AND ${ofMessage('place.seq', 'm.created_at')} >= asked.value ->> 'since'
        ORDER BY place.seq DESC LIMIT ${maxNew}) AS one) AS counts
    FROM json_each(:threads) AS asked)
  WHERE messages > 0`)

const refused = query<{ at: number; count: number }>(`
  SELECT hour AS at, sum(n) AS count FROM guardrail_counts
  WHERE account_id = :account AND hour >= :since AND action = 'blocked' GROUP BY hour`)
const failed = query<{ at: number; count: number }>(`
  SELECT at, sum(n) AS count FROM (
    SELECT hour AS at, sum(n) AS n FROM guardrail_counts
    WHERE account_id = :account AND hour >= :since AND action = 'failed' GROUP BY hour
    UNION ALL
    SELECT read_at - read_at % ${hour}, count(*) FROM deliveries
    WHERE account_id = :account AND state = 'parked' AND read_at >= :since GROUP BY read_at - read_at % ${hour})
  GROUP BY at`)

export const figures = {
  reads: (account: AccountDb) => ({
    /** Counts, for each thread, the messages after a given message and since a given time, up to `maxNew`. */
    news: (threads: readonly { thread: number; after: number; since: number }[]): Promise<New[]> =>
      account.all(news, { threads: JSON.stringify(threads) }),
    /** The number of messages that guardrails refused, per hour. */
    refused: (since: number) => account.all(refused, { since }),
    /** The number of unchecked or undelivered messages, per hour. */
    failed: (since: number) => account.all(failed, { since }),
  }),
  changes: () => ({}),
}
