/** Who may let a client act, and for whom: asked for again by every statement that depends on it. */
import { and, eq, exists, gt, inArray, isNotNull, isNull, or, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { agents, memberships, oauthGrants } from '../../../db/schema.ts'
import type { Db } from '../account.ts'

/** Roles that may grant the account's admin. Spec: "Authentication" 3. */
export const adminRoles = ['owner', 'admin'] as const
/** Roles that may act as an agent of the account. */
export const agentRoles = ['owner', 'admin', 'member'] as const

/** Joined to a grant: the membership behind it. */
export const membershipOf = (grant: { accountId: SQLiteColumn; userId: SQLiteColumn }) =>
  and(eq(memberships.accountId, grant.accountId), eq(memberships.userId, grant.userId))

/** Joined to a grant: its agent, while it lives and is one that a person can act as. */
export const liveAgentOf = (grant: { accountId: SQLiteColumn; agentId: SQLiteColumn }) =>
  and(
    eq(agents.accountId, grant.accountId),
    eq(agents.id, grant.agentId),
    eq(agents.type, sql`'mcp'`),
    isNull(agents.deletedAt),
  )

/** Joined to a grant, to say who it was for: its agent, also when that is deleted. */
export const namedAgentOf = (grant: { accountId: SQLiteColumn; agentId: SQLiteColumn }) =>
  and(eq(agents.accountId, grant.accountId), eq(agents.id, grant.agentId))

/** Over both joins: the person is still what the grant says. */
export const stillMayAct = (agentId: SQLiteColumn) =>
  or(
    and(isNull(agentId), inArray(memberships.role, [...adminRoles])),
    and(isNotNull(agents.id), inArray(memberships.role, [...agentRoles])),
  )

/** A condition on a row that belongs to a grant: the grant lives at `at`, and so does all behind it. */
export function ofLiveGrant(db: Db, row: { accountId: SQLiteColumn; grantId: SQLiteColumn }, at: Placeholder): SQL {
  // By another name, because the row may be the grant itself.
  const living = alias(oauthGrants, 'living')
  return exists(
    db.select({ one: sql`1` }).from(living)
      .innerJoin(memberships, membershipOf(living))
      .leftJoin(agents, liveAgentOf(living))
      .where(and(
        eq(living.accountId, row.accountId),
        eq(living.id, row.grantId),
        isNull(living.revokedAt),
        gt(living.expiresAt, at),
        stillMayAct(living.agentId),
      )),
  )
}
