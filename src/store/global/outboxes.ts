/** Due outboxes of external servers, across all accounts. */
import { crossAccountQuery, crossAccountStatement, type Db, type Statement } from '../sql.ts'

/**
 * The kinds of outbox: one sender's messages to a remote agent, status requests for one of these messages, a task's
 * events for its webhook, and an account's events for a webhook. For the last kind, the webhook itself is the agent.
 */
export type OutboxKind = 'inbox' | 'task' | 'push' | 'webhook'

/** The table that contains the rows of each kind. */
export const outboxTables: Record<OutboxKind, string> = {
  inbox: 'remote_outboxes',
  task: 'remote_tasks',
  push: 'task_push_configs',
  webhook: 'webhooks',
}

export const outboxKinds = Object.keys(outboxTables) as OutboxKind[]

/** Condition: requests of the row `outbox` are not held back by a pause or by the deletion of its account. */
export const isOpen: Record<OutboxKind, string> = {
  inbox: `NOT EXISTS (SELECT 1 FROM remote_agents AS paused WHERE paused.account_id = outbox.account_id
    AND paused.agent_id = outbox.agent_id AND paused.paused_at IS NOT NULL)`,
  task: '1',
  push: '1',
  webhook: `outbox.paused_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = outbox.account_id AND accounts.deleted_at IS NOT NULL)`,
}

/** A due request: the next message from the sender `id`, the next event, or a poll for the message `id`. */
export interface DueOutbox {
  kind: OutboxKind
  accountId: string
  agentId: string
  /** The agent's alias without the leading `@`. */
  alias: string
  id: string
  /** The URL to which the message is sent. */
  remoteUrl: string
  dueAt: number
}

/** Condition: no live process holds the row. `:instance` is this process. Only a remote database lists others. */
export const isFree = `(claimed_by IS NULL
    OR (substr(claimed_by, 1, 36) <> :instance AND substr(claimed_by, 1, 36) NOT IN (SELECT instances.id FROM instances)))`

/** Maximum number of senders whose messages are sent to one agent at the same time. */
const maxOfAgent = 4

/** Condition: the messages of one more sender can be sent to an agent at the same time. */
export function hasRoom(account: string, agent: string): string {
  return `(SELECT count(*) FROM remote_outboxes AS other WHERE other.account_id = ${account} AND other.agent_id = ${agent}
    AND other.claimed_by IS NOT NULL AND NOT ${isFree}) < ${maxOfAgent}`
}

const isDue = (kind: OutboxKind, url: string) =>
  `outbox.due_at <= :now AND ${isFree} AND instr(:kinds, '"${kind}"') > 0
    AND outbox.account_id NOT IN (SELECT value FROM json_each(:accounts))
    AND NOT EXISTS (SELECT 1 FROM json_each(:origins) WHERE instr(${url}, value || '/') = 1)`
const dueOf = (
  kind: OutboxKind,
  { id = 'outbox.id', url = 'agents.remote_url', goesOn = '', condition = '1' } = {},
) => `
  SELECT '${kind}' AS kind, outbox.account_id, outbox.agent_id, agents.alias, ${id} AS id, ${url} AS remote_url, outbox.due_at
  FROM ${
  outboxTables[kind]
} AS outbox JOIN agents ON agents.account_id = outbox.account_id AND agents.id = outbox.agent_id
  WHERE ${isDue(kind, url)} AND ${
  isOpen[kind]
} AND ${condition} AND ${url} IS NOT NULL AND (agents.deleted_at IS NULL${goesOn})`
const due = crossAccountQuery<DueOutbox>(
  'requests to remote agents that are due',
  [
    dueOf('inbox', { id: 'outbox.sender_id', condition: hasRoom('outbox.account_id', 'outbox.agent_id') }),
    dueOf('task'),
    // When an agent moves, its tasks end in the account that it leaves, and their webhooks are still notified.
    dueOf('push', { url: 'outbox.url', goesOn: ' OR agents.moved_to IS NOT NULL' }),
    `
  SELECT 'webhook' AS kind, outbox.account_id, outbox.id AS agent_id, 'webhook' AS alias, outbox.id, outbox.url AS remote_url,
    outbox.due_at
  FROM webhooks AS outbox WHERE ${isDue('webhook', 'outbox.url')} AND ${isOpen.webhook}`,
  ].join(' UNION ALL ') + ' ORDER BY due_at LIMIT :limit',
)
/** A remote agent that may report on a message, and the data for checking its token. */
interface CallbackRow {
  accountId: string
  agentId: string
  callbackSecret: string
}

const callbacks = crossAccountQuery<CallbackRow>(
  'callback of a remote agent',
  `SELECT remote.account_id, remote.agent_id, remote.callback_secret
  FROM (
    SELECT account_id, agent_id FROM remote_tasks WHERE id = :id
    UNION SELECT account_id, agent_id FROM remote_outboxes WHERE sending_id = :id) AS asked
  JOIN remote_agents AS remote ON remote.account_id = asked.account_id AND remote.agent_id = asked.agent_id`,
)
const lookNow = crossAccountStatement(
  'look that a callback asks for',
  `UPDATE remote_tasks SET due_at = :at
  WHERE account_id = :account AND agent_id = :agent AND id = :id AND state = 'working'`,
)

export const outboxes = (db: Db) => ({
  /** The remote agents that a message is sent to. */
  callbacks: (id: string) => db.all(callbacks, { id }),
  /** Polls the message's state immediately, if the agent works on it. */
  lookNow: ({ accountId: account, agentId: agent }: CallbackRow, id: string, at: number): Statement =>
    db.bind(lookNow, { account, agent, id, at }),
  /** Due and unclaimed outboxes of these kinds, longest due first, without busy origins and accounts. */
  due: (
    now: number,
    instance: string,
    { origins, accounts, kinds }: Record<'origins' | 'accounts' | 'kinds', readonly string[]>,
    limit: number,
  ) => {
    return db.all(due, {
      ...{ now, instance, limit },
      origins: JSON.stringify(origins),
      accounts: JSON.stringify(accounts),
      kinds: JSON.stringify(kinds),
    })
  },
})
