/** The lines of requests to servers outside that are due, over all accounts. */
import { crossAccountQuery, crossAccountStatement, type Db, type Statement } from '../sql.ts'

/**
 * A line of messages to a remote agent, of questions what became of one, of events of a task to its webhook, or of events of
 * the account to a webhook, whose agent is the webhook itself.
 */
export type LineKind = 'inbox' | 'exchange' | 'push' | 'webhook'

/** A request that is due: the next message or event, or a look at what became of the message `id`. */
export interface DueLine {
  kind: LineKind
  accountId: string
  agentId: string
  /** Without `@`. */
  alias: string
  id: string
  /** Where it goes. */
  remoteUrl: string
}

/** The condition that no live process holds the row. `:instance` is this process, and only a remote database lists others. */
export const isFree = `(held_by IS NULL
    OR (substr(held_by, 1, 36) <> :instance AND substr(held_by, 1, 36) NOT IN (SELECT instances.id FROM instances)))`

const isDue = (url: string) =>
  `line.due_at <= :now AND ${isFree}
    AND line.account_id NOT IN (SELECT value FROM json_each(:accounts))
    AND NOT EXISTS (SELECT 1 FROM json_each(:origins) WHERE instr(${url}, value || '/') = 1)`
const dueOf = (
  kind: LineKind,
  table: string,
  { id = 'line.id', url = 'agents.remote_url', goesOn = '', condition = '1' } = {},
) => `
  SELECT '${kind}' AS kind, line.account_id, line.agent_id, agents.alias, ${id} AS id, ${url} AS remote_url, line.due_at
  FROM ${table} AS line JOIN agents ON agents.account_id = line.account_id AND agents.id = line.agent_id
  WHERE ${isDue(url)} AND ${condition} AND ${url} IS NOT NULL AND (agents.deleted_at IS NULL${goesOn})`
const due = crossAccountQuery<DueLine>(
  'requests to remote agents that are due',
  [
    dueOf('inbox', 'remote_agents', { id: 'line.agent_id', condition: 'line.paused_at IS NULL' }),
    dueOf('exchange', 'remote_exchanges'),
    // The tasks of an agent that moves to another account end in the one that it leaves.
    dueOf('push', 'task_push_configs', { url: 'line.url', goesOn: ' OR agents.moved_to IS NOT NULL' }),
    `
  SELECT 'webhook' AS kind, line.account_id, line.id AS agent_id, 'webhook' AS alias, line.id, line.url AS remote_url,
    line.due_at
  FROM webhooks AS line WHERE ${isDue('line.url')} AND line.paused_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = line.account_id AND accounts.deleted_at IS NOT NULL)`,
  ].join(' UNION ALL ') + ' ORDER BY due_at LIMIT :limit',
)
const ofCallback = 'callback_hash = :hash AND id = :id'
const hasCallback = crossAccountQuery<{ one: number }>(
  'callback of a remote agent',
  `SELECT 1 AS one FROM remote_exchanges WHERE ${ofCallback}`,
)
const accountOfSlack = crossAccountQuery<{ accountId: string }>(
  'account of a Slack channel',
  'SELECT account_id FROM slack_channels WHERE id = :id',
)
const lookNow = crossAccountStatement(
  'look that a callback asks for',
  `UPDATE remote_exchanges SET due_at = :at WHERE ${ofCallback} AND state = 'working'`,
)

export const remoteLines = (db: Db) => ({
  /** The account of a channel that is mirrored with Slack. */
  accountOfSlack: async (id: string) => (await db.one(accountOfSlack, { id }))?.accountId,
  /** Whether a message has a callback whose token has this hash. */
  hasCallback: async (id: string, hash: string) => await db.one(hasCallback, { id, hash }) !== undefined,
  /** Look at once what became of the message, if it is worked on. */
  lookNow: (id: string, hash: string, at: number): Statement => db.bind(lookNow, { id, hash, at }),
  /** What is due and not held, longest due first; nothing of the origins and accounts in `busy`. */
  due: (
    now: number,
    instance: string,
    busy: { origins: readonly string[]; accounts: readonly string[] },
    limit: number,
  ) => {
    const { origins, accounts } = busy
    return db.all(due, {
      ...{ now, instance, limit },
      origins: JSON.stringify(origins),
      accounts: JSON.stringify(accounts),
    })
  },
})
