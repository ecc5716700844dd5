/** Finds agents of other accounts that the calling agent may write to. */
import { inboxOf } from './inbox-message.ts'
import { type AccountDb, boolean, crossAccountQuery } from '../sql.ts'
import { foundAgentColumns, matchesSearch } from './agent-columns.ts'
import type { SearchedAgent } from './agents.ts'
import { guardsOfDirect } from './guarding.ts'
import { isWaitingForAnswer } from './leases.ts'

/**
 * Condition: the public agent of the row `agent` accepts a caller from another account, which can therefore find it.
 * `callerAlias` is SQL of the caller's alias; the caller's account is bound as `account`. Provisional accounts can
 * neither reach others nor be reached.
 */
function acceptsOtherAccounts(agent: string, callerAlias: string): string {
  return `(${isReachable(agent)} AND ${letsIn(agent, callerAlias)})`
}

/**
 * Condition: a caller from another account may write to the agent of the row. Either the agent accepts the caller, or
 * it once wrote to the caller, its message is still stored, and it does not block the caller.
 */
export function acceptsMessagesOf(agent: string, caller: { alias: string; id: string }): string {
  return `(${isReachable(agent)} AND (${letsIn(agent, caller.alias)}
    OR (NOT (${agent}.access_policy = 'block_list' AND ${isOnList(agent, caller.alias)})
      AND EXISTS (SELECT 1 FROM deliveries AS written WHERE written.inbox = ${inboxOf(caller.id)}
        AND written.external_id = ${agent}.id))))`
}

function isReachable(agent: string): string {
  return `${agent}.deleted_at IS NULL AND ${isClaimed(`${agent}.account_id`)} AND ${isClaimed(':account')}`
}

/** Condition: the account with this id is claimed. `accountId` is SQL. */
export function isClaimed(accountId: string): string {
  return `EXISTS (SELECT 1 FROM accounts WHERE accounts.id = ${accountId} AND accounts.state = 'claimed')`
}

function letsIn(agent: string, callerAlias: string): string {
  const isListed = isOnList(agent, callerAlias)
  return `(${agent}.visibility = 'public' AND CASE ${agent}.access_policy
    WHEN 'auto_approve' THEN 1 WHEN 'allow_list' THEN ${isListed} ELSE NOT ${isListed} END)`
}

function isOnList(agent: string, callerAlias: string): string {
  return `EXISTS (SELECT 1 FROM agent_access AS listed WHERE listed.account_id = ${agent}.account_id
    AND listed.agent_id = ${agent}.id AND listed.alias = ${callerAlias}
    AND NOT (listed.pending AND ${agent}.access_policy = 'allow_list'))`
}

interface OtherRecipient {
  id: string
  home: string
  guards: number
  messageReplies: boolean
  isRemote: boolean
  /** The agent is remote, and messages are sent to it with a token of its account. */
  spendsToken: boolean
  isWaiting: boolean
}

const recipient = crossAccountQuery<OtherRecipient>(
  'recipient in another account',
  `
  SELECT agents.id, agents.account_id AS home, ${guardsOfDirect(':callerId', true)} AS guards, agents.message_replies,
    agents.remote_url IS NOT NULL AS is_remote, agents.encrypted_token IS NOT NULL AS spends_token,
    ${isWaitingForAnswer} AS is_waiting
  FROM agents
  WHERE agents.alias = :alias AND agents.account_id <> :account
    AND ${acceptsMessagesOf('agents', { alias: ':caller', id: ':callerId' })}`,
  { messageReplies: boolean, isRemote: boolean, spendsToken: boolean, isWaiting: boolean },
)
// The limit counts unreachable agents too, because reading many of them is also slow.
const bySearch = crossAccountQuery<SearchedAgent>(
  'public agents',
  `
  SELECT candidates.alias AS searched_alias, candidates.is_hidden, ${foundAgentColumns}
  FROM (
    SELECT agents.account_id AS home, agents.id, agents.alias,
      NOT (agents.account_id <> :account AND ${acceptsOtherAccounts('agents', ':caller')}) AS is_hidden
    FROM agents
    WHERE agents.visibility = 'public' AND agents.deleted_at IS NULL AND agents.alias > :after
    ORDER BY agents.alias LIMIT :limit OFFSET :skip) AS candidates
  LEFT JOIN agents ON agents.account_id = candidates.home AND agents.id = candidates.id
    AND NOT candidates.is_hidden AND ${matchesSearch}
  ORDER BY candidates.alias`,
)
const aliasOwner = crossAccountQuery<{ isOurs: number; wasOfPerson: number }>(
  'owner of an alias',
  `
  SELECT max(agents.account_id = :account) AS is_ours, max(agents.type = 'human') AS was_of_person
  FROM agents WHERE agents.alias = :alias AND agents.moved_to IS NULL GROUP BY agents.alias`,
)
const aliasLive = crossAccountQuery<{ id: string }>(
  'live alias',
  'SELECT id FROM agents WHERE alias = :alias AND deleted_at IS NULL',
)
export const directory = {
  reads: (account: AccountDb) => ({
    /** Another account's agent that accepts messages from the caller. `home` is its account. */
    recipient: (alias: string, caller: { alias: string; agentId: string }) =>
      account.one(recipient, { alias, caller: caller.alias, callerId: caller.agentId }),
    /** Searches up to `limit` public agents after the alias `after` and `skip` others. Hides unreachable agents. */
    search: (
      search: string,
      caller: string,
      { after, skip }: { after: string; skip: number },
      limit: number,
    ): Promise<SearchedAgent[]> => account.all(bySearch, { search, caller, after, skip, limit }),
    /** Whether the alias is free for this account. A program cannot take an alias that a person had. */
    async isAliasFree(alias: string, { forPerson = false } = {}): Promise<boolean> {
      const owner = await account.one(aliasOwner, { alias })
      if (!owner) return true
      if (owner.wasOfPerson === 1 && !forPerson) return false
      return owner.isOurs === 1 && !(await account.one(aliasLive, { alias }))
    },
  }),
  changes: () => ({}),
}
