/** Statistics of an account. */
import { hour } from '../../lib/time.ts'
import { type AccountDb, boolean, query } from '../sql.ts'
import { maxCounted } from './attention.ts'

// One range of the index for each hour. GROUP BY takes ten times as long.
const sentPerHour = query<{ at: number; count: number }>(`
  SELECT hours.value AS at, (
    SELECT count(*) FROM messages
    WHERE messages.account_id = :account
      AND messages.created_at >= hours.value AND messages.created_at < hours.value + ${hour}) AS count
  FROM json_each(:hours) AS hours`)
// One search for each inbox.
const unread = query<{ unread: number; isMore: boolean }>(
  `
  SELECT coalesce(sum(inboxes.unread), 0) AS unread, coalesce(max(inboxes.unread), 0) >= ${maxCounted} AS is_more
  FROM (
    SELECT (SELECT count(*) FROM (
      SELECT 1 FROM deliveries WHERE deliveries.inbox = agent_numbers.n AND deliveries.state = 'unread'
      LIMIT ${maxCounted})) AS unread
    FROM agent_numbers WHERE agent_numbers.account_id = :account) AS inboxes`,
  { isMore: boolean },
)
// Counted together in one pass over the agents.
const agentCounts = query<{ total: number; seen: number }>(`
  SELECT count(*) AS total, count(CASE WHEN last_seen_at >= :since THEN 1 END) AS seen
  FROM agents WHERE account_id = :account AND deleted_at IS NULL`)

export const overview = {
  reads: (account: AccountDb) => ({
    /** How many messages the account sent in each of these hours, given by their first millisecond. */
    sentPerHour: (hours: number[]): Promise<{ at: number; count: number }[]> =>
      account.all(sentPerHour, { hours: JSON.stringify(hours) }),
    /** The unread messages of all agents together, each counted up to a limit; `isMore` if one has reached it. */
    unread: async () => (await account.one(unread))!,
    /** How many live agents there are, and how many of them were seen since a time. */
    agents: async (since: number) => (await account.one(agentCounts, { since }))!,
  }),
  changes: () => ({}),
}
