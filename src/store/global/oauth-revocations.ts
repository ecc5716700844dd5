/** Revoking everything that a user authorized OAuth clients to do, in all accounts. Tokens and fetched keys end with it. */
import { and, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { agents, credentials, oauthGrants } from '../../../db/schema.ts'
import { bind, p, precondition, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { fetchedKey, givesAccess, grantedAgent } from './oauth-access.ts'

/** How many rows `find` returns. A unit that revokes more counts as this many rows. */
const maxFound = 200

/** A grant that gives its client access, or that can still be exchanged. */
export type RevocableAccess = Awaited<ReturnType<ReturnType<typeof prepareOAuthRevocations>['find']>>[number]

export function prepareOAuthRevocations(db: Db, crossAccountQueries: CrossAccountQueries) {
  const hasUnusedCode = and(isNull(oauthGrants.codeUsedAt), gt(oauthGrants.codeExpiresAt, p('at')))
  const grantOfUser = and(eq(oauthGrants.userId, p('user')), isNull(oauthGrants.revokedAt))
  const revocable = db.select({
    accountId: oauthGrants.accountId,
    id: oauthGrants.id,
    clientId: oauthGrants.clientId,
    clientName: oauthGrants.clientName,
    alias: agents.alias,
  }).from(oauthGrants).leftJoin(agents, grantedAgent(oauthGrants)).leftJoin(credentials, fetchedKey(db))
    .where(and(grantOfUser, or(givesAccess(db), hasUnusedCode)))
    .orderBy(oauthGrants.accountId, oauthGrants.id).limit(maxFound)
  const find = revocable.prepare()
  const requireUnchanged = precondition(db, sql`(SELECT json_group_array(id) FROM (${revocable})) = ${p('ids')}`)

  const revoked = { revokedAt: sql`${p('at')}` }
  const revokeGrants = db.update(oauthGrants).set(revoked).where(grantOfUser).toSQL()
  const revokeGrantsIn = db.update(oauthGrants).set(revoked)
    .where(and(eq(oauthGrants.accountId, p('account')), grantOfUser)).toSQL()
  crossAccountQueries.set(find.getQuery().sql, 'revocable access of a user')
  crossAccountQueries.set(requireUnchanged.sql, 'revocable access of a user, unchanged')
  crossAccountQueries.set(revokeGrants.sql, 'revocation of the grants of a user')

  return {
    /** What gives clients access for a user now, ordered by account; at most `maxFound`. */
    find: (user: string, at: number) => runQuery(find, { user, at }),
    maxFound,
    /** Fails the unit unless `find` returns these ids, in this order, when it runs. */
    requireUnchanged: (user: string, ids: string[], at: number): Statement =>
      bind(requireUnchanged, { user, ids: JSON.stringify(ids), at }),
    /** Revoke every grant of a user in all accounts, also those whose code is not used yet. */
    revokeAll: (user: string, at: number): Statement => ({ ...bind(revokeGrants, { user, at }), rows: maxFound }),
    /** The same in one account. */
    revokeInAccount: (accountId: string, user: string, at: number): Statement => ({
      ...bind(revokeGrantsIn, { account: accountId, user, at }),
      rows: maxFound,
    }),
  }
}
