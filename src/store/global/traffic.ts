/** The follower `traffic`: counts of messages by sender and recipient, per hour and per day. */
import { day, hour } from '../../lib/time.ts'
import { crossAccountStatement, type Db, type Statement, statement } from '../sql.ts'
import { inBatch, places } from './conversations.ts'

/** How long hourly and daily counts are kept. */
export const trafficKeptMs = { [hour]: day + hour, [day]: 8 * day }
const periods = Object.entries(trafficKeptMs).map(([ms, kept]) => `SELECT ${ms} AS ms, ${kept} AS kept`)

/**
 * The statement that counts messages per pair and, with an empty source and target, per account. `chosen` is a
 * condition on `messages AS m`. Counts that `trafficKeptMs` would no longer keep are omitted.
 */
export const counting = (name: string, chosen: string) =>
  crossAccountStatement(
    name,
    `
    INSERT INTO traffic (account_id, period_ms, at, source, target, messages, answers, answer_ms, last_at)
    SELECT place.account_id, period.ms, place.created_at - place.created_at % period.ms AS start,
      iif(sum.of_all, '', place.source) AS source, iif(sum.of_all, '', place.target) AS target, count(*),
      count(asked.seq),
      coalesce(sum(max(0, place.created_at - asked.created_at)), 0), max(place.created_at)
    FROM (${places(chosen)}) AS place CROSS JOIN (${periods.join(' UNION ALL ')}) AS period
    CROSS JOIN (SELECT 0 AS of_all UNION ALL SELECT 1) AS sum
    LEFT JOIN messages AS asked ON asked.account_id = place.home AND asked.id = place.reply_to
    WHERE place.type <> 'system' AND (NOT sum.of_all OR place.account_id = place.home) AND place.created_at > (
      SELECT newest.created_at FROM messages AS newest
      WHERE newest.seq = (SELECT max(last.seq) FROM messages AS last)) - period.kept
    GROUP BY place.account_id, period.ms, start, 4, 5
    ON CONFLICT (account_id, period_ms, source, target, at) DO UPDATE SET
      messages = traffic.messages + excluded.messages, answers = traffic.answers + excluded.answers,
      answer_ms = traffic.answer_ms + excluded.answer_ms, last_at = max(traffic.last_at, excluded.last_at)`,
  )

const count = counting('counts of new messages', inBatch)
const begin = statement(`UPDATE projections SET seq = -1 WHERE name = 'traffic'`)
const empty = crossAccountStatement(
  'counts to make again',
  `
  DELETE FROM traffic WHERE (account_id, period_ms, source, target, at) IN (
    SELECT account_id, period_ms, source, target, at FROM traffic LIMIT :limit)`,
)
const restart = crossAccountStatement(
  'counts to make again',
  `UPDATE projections SET seq = 0 WHERE name = 'traffic' AND seq < 0 AND NOT EXISTS (SELECT 1 FROM traffic)`,
)

export const traffic = (db: Db) => ({
  /** Counts a batch's messages, unless another process has already done so. */
  count: (batch: { after: number; upTo: number }): Statement => ({
    ...db.bind(count, { ...batch, follower: 'traffic' }),
    rows: batch.upTo - batch.after,
    isTraffic: true,
  }),
  /** Starts counting all messages again. First, `empty` removes the counts. */
  startAgain: (): Statement => db.bind(begin),
  /** Removes part of the counts. Once there are none, the follower restarts. */
  empty: (limit: number): Statement[] => [{ ...db.bind(empty, { limit }), rows: limit }, db.bind(restart)],
})
