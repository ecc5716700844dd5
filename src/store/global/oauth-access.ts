/**
 * SQL conditions for what an OAuth grant may still do. Every statement that depends on a grant checks them again, so
 * that a lost role or a deleted agent ends the access at once.
 */
import { and, eq, exists, gt, inArray, isNotNull, isNull, or, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { agents, credentials, memberships, oauthGrants, oauthTokens } from '../../../db/schema.ts'
import { type Permission, permissions } from '../../auth/actor.ts'
import { p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** Condition on a joined membership: its role has the permission. */
export const roleHas = (permission: Permission): SQL => inArray(memberships.role, [...permissions[permission]])

/** Join condition: the membership of the user who gave the grant. */
export const grantMembership = (grant: { accountId: SQLiteColumn; userId: SQLiteColumn }) =>
  and(eq(memberships.accountId, grant.accountId), eq(memberships.userId, grant.userId))

/** Join condition: the agent of the grant, if it is not deleted and has a type that OAuth clients can act as. */
export const grantedLiveAgent = (grant: { accountId: SQLiteColumn; agentId: SQLiteColumn }) =>
  and(
    eq(agents.accountId, grant.accountId),
    eq(agents.id, grant.agentId),
    eq(agents.type, sql`'mcp'`),
    isNull(agents.deletedAt),
  )

/** Join condition: the agent of the grant, deleted or not. For display. */
export const grantedAgent = (grant: { accountId: SQLiteColumn; agentId: SQLiteColumn }) =>
  and(eq(agents.accountId, grant.accountId), eq(agents.id, grant.agentId))

/**
 * Condition over `grantMembership` and `grantedLiveAgent`: a grant for the admin needs `manage`, and one for an agent
 * needs the agent and `use`. See docs/protocol.md, "Bearer tokens".
 */
export const roleAllowsGrant = (agentId: SQLiteColumn) =>
  or(
    and(isNull(agentId), roleHas('manage')),
    and(isNotNull(agents.id), roleHas('use')),
  )

/** Condition on a row of a grant: at `at` the grant is live, and its user still has the role for it. */
export function belongsToLiveGrant(
  db: Db,
  row: { accountId: SQLiteColumn; grantId: SQLiteColumn },
  at: Placeholder,
): SQL {
  // An alias, because the row may be the grant itself.
  const living = alias(oauthGrants, 'living')
  return exists(
    db.select({ one: sql`1` }).from(living)
      .innerJoin(memberships, grantMembership(living))
      .leftJoin(agents, grantedLiveAgent(living))
      .where(and(
        eq(living.accountId, row.accountId),
        eq(living.id, row.grantId),
        isNull(living.revokedAt),
        gt(living.expiresAt, at),
        roleAllowsGrant(living.agentId),
      )),
  )
}

/** Condition over an agent key and the grant with which a client fetched it. */
export const fetchingGrant = and(
  eq(oauthGrants.accountId, credentials.accountId),
  eq(oauthGrants.id, credentials.grantId),
)

/** Condition on a key: no client fetched it, or its grant is live at `at`. Most keys have no grant to look for. */
export const whileGrantLives = (db: Db): SQL =>
  or(
    isNull(credentials.grantId),
    exists(
      db.select({ one: sql`1` }).from(oauthGrants)
        .where(and(fetchingGrant, isNull(oauthGrants.revokedAt), gt(oauthGrants.expiresAt, p('at')))),
    ),
  )!

/** Join condition from a grant: the newest key that its client fetched with it and that is not revoked. */
export function fetchedKey(db: Db): SQL {
  const newest = alias(credentials, 'newest')
  return and(
    eq(credentials.accountId, oauthGrants.accountId),
    eq(credentials.grantId, oauthGrants.id),
    eq(
      credentials.id,
      // Ids are in the order of time.
      db.select({ id: sql`max(${newest.id})` }).from(newest).where(and(
        eq(newest.accountId, oauthGrants.accountId),
        eq(newest.grantId, oauthGrants.id),
        isNull(newest.revokedAt),
      )),
    ),
  )!
}

/** Condition over `fetchedKey`, left-joined: the grant of the row gives its client access at `at`, by a token or a key. */
export const givesAccess = (db: Db): SQL =>
  and(
    isNull(oauthGrants.revokedAt),
    gt(oauthGrants.expiresAt, p('at')),
    or(hasLiveToken(db), isNotNull(credentials.id)),
  )!

/** Whether the grant of the row has a token that is neither revoked nor expired at the time `at`. */
export function hasLiveToken(db: Db): SQL {
  return exists(
    db.select({ one: sql`1` }).from(oauthTokens).where(and(
      eq(oauthTokens.accountId, oauthGrants.accountId),
      eq(oauthTokens.grantId, oauthGrants.id),
      isNull(oauthTokens.revokedAt),
      gt(oauthTokens.expiresAt, p('at')),
    )),
  )
}
