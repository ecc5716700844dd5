/** The parts of oauth-access.ts for the statements that drizzle still builds. */
import { and, eq, exists, gt, inArray, isNull, or, type SQL, sql } from 'drizzle-orm'
import { credentials, memberships, oauthGrants } from '../../../db/schema.ts'
import { type Permission, permissions } from '../../auth/actor.ts'
import { p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** Condition on a joined membership: its role has the permission. */
export const roleHas = (permission: Permission): SQL => inArray(memberships.role, [...permissions[permission]])

/** Condition over an agent key and the grant with which a client fetched it. */
const fetchingGrant = and(
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
