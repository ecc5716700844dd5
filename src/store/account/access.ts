/** Which agents of other accounts may find a public agent and write to it. One rule, for searches and for sends. */
import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { accounts, agentAccess } from '../../../db/schema.ts'
import { p } from '../driver/binding.ts'

/** `agents`, or an alias of it. */
type AgentColumns = Record<'accountId' | 'id' | 'visibility' | 'deletedAt' | 'accessPolicy', SQLiteColumn>

/**
 * Whether the public agent of the row accepts a caller from another account. `callerAlias` is the caller's alias;
 * the caller's account is bound as `account`. Provisional accounts neither reach others nor are reached.
 *
 * See docs/protocol.md, "Agent".
 */
export function acceptsOtherAccounts(agent: AgentColumns, callerAlias: unknown): SQL {
  const isListed = sql`EXISTS (SELECT 1 FROM ${agentAccess} WHERE ${agentAccess.accountId} = ${agent.accountId}
    AND ${agentAccess.agentId} = ${agent.id} AND ${agentAccess.alias} = ${callerAlias})`
  return and(
    eq(agent.visibility, sql`'public'`),
    isNull(agent.deletedAt),
    isClaimed(agent.accountId),
    isClaimed(p('account')),
    sql`CASE ${agent.accessPolicy}
      WHEN 'auto_approve' THEN 1 WHEN 'allow_list' THEN ${isListed} ELSE NOT ${isListed} END`,
  )!
}

function isClaimed(accountId: unknown): SQL {
  return sql`EXISTS (SELECT 1 FROM ${accounts} WHERE ${accounts.id} = ${accountId} AND ${accounts.state} = 'claimed')`
}
