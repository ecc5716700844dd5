/** An account's message counts, and its agents' answer times. */
import { day } from '../../lib/time.ts'
import { type AccountDb, query } from '../sql.ts'

const totals = query<{ at: number; count: number; answers: number; answerMs: number }>(`
  SELECT at, messages AS count, answers, answer_ms FROM traffic
  WHERE account_id = :account AND period_ms = :period AND source = '' AND target = '' AND at >= :since ORDER BY at`)
// With `+`, because otherwise the planner reads the counts of all accounts since that time.
const answers = query<{ at: number; name: string; n: number; ms: number }>(`
  SELECT traffic.at, coalesce('@' || agents.alias, '#' || channels.name, traffic.target) AS name, traffic.answers AS n,
    traffic.answer_ms AS ms
  FROM traffic
  LEFT JOIN agents ON agents.account_id = traffic.account_id AND agents.id = traffic.target AND agents.deleted_at IS NULL
  LEFT JOIN channels ON channels.account_id = traffic.account_id AND channels.id = traffic.target
  WHERE traffic.account_id = :account AND traffic.period_ms = ${day} AND traffic.source = :agent AND +traffic.at >= :since
    AND traffic.answers > 0`)

export const traffic = {
  reads: (account: AccountDb) => ({
    /** The account's messages in each hour or day that begins at `since` or later, and its internal answers. */
    totals: (period: number, since: number) => account.all(totals, { period, since }),
    /** An agent's number of answers per day and partner, and their total time. A deleted agent is named by its id. */
    answers: (agent: string, since: number) => account.all(answers, { agent, since }),
  }),
  changes: () => ({}),
}
