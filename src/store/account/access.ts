/** Which agents of other accounts may find an agent and write to it. One rule, for searches and for sends. */

/**
 * The condition that the public agent of the row `agent` accepts a caller from another account, and so is found by it.
 * `callerAlias` is SQL of the caller's alias; the caller's account is bound as `account`. Provisional accounts neither
 * reach others nor are reached.
 *
 * See docs/protocol.md, "Agent".
 */
export function acceptsOtherAccounts(agent: string, callerAlias: string): string {
  return `(${isReachable(agent)} AND ${letsIn(agent, callerAlias)})`
}

/**
 * The condition that a caller from another account may write to the agent of the row: it accepts the caller, or it wrote
 * to the caller, the message is kept, and it does not block the caller.
 *
 * See docs/protocol.md, "Right to answer".
 */
export function acceptsMessagesOf(agent: string, caller: { alias: string; id: string }): string {
  return `(${isReachable(agent)} AND (${letsIn(agent, caller.alias)}
    OR (NOT (${agent}.access_policy = 'block_list' AND ${isOnList(agent, caller.alias)})
      AND EXISTS (SELECT 1 FROM deliveries AS written WHERE written.account_id = :account
        AND written.agent_id = ${caller.id} AND written.stranger_id = ${agent}.id))))`
}

function isReachable(agent: string): string {
  return `${agent}.deleted_at IS NULL AND ${isClaimed(`${agent}.account_id`)} AND ${isClaimed(':account')}`
}

function isClaimed(accountId: string): string {
  return `EXISTS (SELECT 1 FROM accounts WHERE accounts.id = ${accountId} AND accounts.state = 'claimed')`
}

function letsIn(agent: string, callerAlias: string): string {
  const isListed = isOnList(agent, callerAlias)
  return `(${agent}.visibility = 'public' AND CASE ${agent}.access_policy
    WHEN 'auto_approve' THEN 1 WHEN 'allow_list' THEN ${isListed} ELSE NOT ${isListed} END)`
}

function isOnList(agent: string, callerAlias: string): string {
  return `EXISTS (SELECT 1 FROM agent_access AS listed WHERE listed.account_id = ${agent}.account_id
    AND listed.agent_id = ${agent}.id AND listed.alias = ${callerAlias})`
}
