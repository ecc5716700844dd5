/** What `agent-grid doctor` asks of all accounts. Only counts, names and times leave it. */
import { crossAccountQuery, type Db } from '../sql.ts'

/** Of so many accounts, the largest, sizes are told. */
const maxAccounts = 50

interface AccountSize {
  id: string
  name: string
  agents: number
  messages: number
  activityRows: number
  bytesOfWeek: number
}

// One search of the index for each inbox. People read on pages, when they like.
const oldestUnread = crossAccountQuery<{ accountId: string; alias: string; createdAt: number }>(
  'oldest unread message',
  `
  SELECT deliveries.account_id, agents.alias, deliveries.created_at
  FROM deliveries
  JOIN agents ON agents.account_id = deliveries.account_id AND agents.id = deliveries.agent_id
  WHERE deliveries.seq = (
    SELECT min((
      SELECT min(unread.seq) FROM deliveries AS unread
      WHERE unread.inbox = agent_numbers.n AND unread.state = 'unread'))
    FROM agent_numbers
    JOIN agents ON agents.account_id = agent_numbers.account_id AND agents.id = agent_numbers.agent_id
    WHERE agents.deleted_at IS NULL AND agents.type <> 'human')`,
)
const sizes = crossAccountQuery<AccountSize>(
  'sizes of accounts',
  `
  SELECT accounts.id, accounts.name,
    (SELECT count(*) FROM agents WHERE agents.account_id = accounts.id AND agents.deleted_at IS NULL) AS agents,
    (SELECT coalesce(sum(threads.messages), 0) FROM threads WHERE threads.account_id = accounts.id) AS messages,
    (SELECT coalesce(max(activity.n), 0) FROM activity WHERE activity.account_id = accounts.id) AS activity_rows,
    (SELECT coalesce(sum(usage.bytes), 0) FROM usage
      WHERE usage.account_id = accounts.id AND usage.subject = '') AS bytes_of_week
  FROM accounts WHERE accounts.state IN ('provisional', 'claimed')
  ORDER BY messages DESC, accounts.id LIMIT ${maxAccounts}`,
)

export const health = (db: Db) => ({
  /** The oldest unread message of an agent that is no person; undefined if there is none. */
  oldestUnread: () => db.one(oldestUnread),
  /** The accounts with the most messages. */
  sizes: () => db.all(sizes),
})
