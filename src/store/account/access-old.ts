/** Which agents of other accounts may find an agent and write to it. One rule, for searches and for sends. */
import { and, eq, isNull, not, or, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { accounts, agentAccess, deliveries } from '../../../db/schema.ts'
import { p } from '../driver/binding.ts'
import { inAccount } from '../in-account-old.ts'

/** `agents`, or an alias of it. */
type AgentColumns = Record<'accountId' | 'id' | 'visibility' | 'deletedAt' | 'accessPolicy', SQLiteColumn>

/**
 * Whether the public agent of the row accepts a caller from another account, and so is found by it. `callerAlias` is the
 * caller's alias; the caller's account is bound as `account`. Provisional accounts neither reach others nor are reached.
 *
 * See docs/protocol.md, "Agent".
 */
export function acceptsOtherAccounts(agent: AgentColumns, callerAlias: unknown): SQL {
  return and(isReachable(agent), letsIn(agent, callerAlias))!
}

/**
 * Whether a caller from another account may write to the agent of the row: it accepts the caller, or it wrote to the
 * caller, the message is kept, and it does not block the caller.
 *
 * See docs/protocol.md, "Right to answer".
 */
export function acceptsMessagesOf(agent: AgentColumns, caller: { alias: unknown; id: unknown }): SQL {
  const isBlocked = and(eq(agent.accessPolicy, sql`'block_list'`), isOnList(agent, caller.alias))!
  const hasWritten = sql`EXISTS (SELECT 1 FROM ${deliveries} WHERE ${
    inAccount(deliveries, sql`${deliveries.agentId} = ${caller.id}`, eq(deliveries.strangerId, agent.id))
  })`
  return and(isReachable(agent), or(letsIn(agent, caller.alias), and(not(isBlocked), hasWritten)))!
}

function isReachable(agent: AgentColumns): SQL {
  return and(isNull(agent.deletedAt), isClaimed(agent.accountId), isClaimed(p('account')))!
}

function isClaimed(accountId: unknown): SQL {
  return sql`EXISTS (SELECT 1 FROM ${accounts} WHERE ${accounts.id} = ${accountId} AND ${accounts.state} = 'claimed')`
}

function letsIn(agent: AgentColumns, callerAlias: unknown): SQL {
  const isListed = isOnList(agent, callerAlias)
  return and(
    eq(agent.visibility, sql`'public'`),
    sql`CASE ${agent.accessPolicy}
      WHEN 'auto_approve' THEN 1 WHEN 'allow_list' THEN ${isListed} ELSE NOT ${isListed} END`,
  )!
}

function isOnList(agent: AgentColumns, callerAlias: unknown): SQL {
  return sql`EXISTS (SELECT 1 FROM ${agentAccess} WHERE ${agentAccess.accountId} = ${agent.accountId}
    AND ${agentAccess.agentId} = ${agent.id} AND ${agentAccess.alias} = ${callerAlias})`
}
