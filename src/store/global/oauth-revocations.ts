/** Revoking everything that a user authorized OAuth clients to do, in all accounts. */
import { and, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/sqlite-core'
import { agents, credentials, oauthGrants } from '../../../db/schema.ts'
import { bind, p, precondition, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { grantedAgent, hasLiveToken } from './oauth-access.ts'

/** How many rows `find` returns. A unit that revokes more counts as this many rows. */
const maxFound = 200

/** A live grant, or an agent key that was fetched with one. A key has no client. */
export type RevocableAccess = Awaited<ReturnType<ReturnType<typeof prepareOAuthRevocations>['find']>>[number]

export function prepareOAuthRevocations(db: Db, crossAccountQueries: CrossAccountQueries) {
  // Live are grants with a token or with an unused code, and keys.
  const hasUnusedCode = and(isNull(oauthGrants.codeUsedAt), gt(oauthGrants.codeExpiresAt, p('at')))
  const grantOfUser = and(eq(oauthGrants.userId, p('user')), isNull(oauthGrants.revokedAt))
  const keyOfUser = and(
    eq(credentials.userId, p('user')),
    eq(credentials.kind, sql`'agent_key'`),
    isNull(credentials.revokedAt),
  )
  const revocable = unionAll(
    db.select({
      accountId: oauthGrants.accountId,
      id: oauthGrants.id,
      clientId: sql<string | null>`${oauthGrants.clientId}`.as('client_id'),
      clientName: sql<string | null>`${oauthGrants.clientName}`.as('client_name'),
      alias: agents.alias,
    }).from(oauthGrants).leftJoin(agents, grantedAgent(oauthGrants))
      .where(and(grantOfUser, or(hasLiveToken(db), hasUnusedCode))),
    db.select({
      accountId: sql<string>`${credentials.accountId}`.as('account_id'),
      id: credentials.id,
      clientId: sql<string | null>`NULL`.as('client_id'),
      clientName: sql<string | null>`NULL`.as('client_name'),
      alias: agents.alias,
    }).from(credentials)
      .leftJoin(agents, and(eq(agents.accountId, credentials.accountId), eq(agents.id, credentials.agentId)))
      .where(keyOfUser),
  ).orderBy(sql`1, 2`).limit(maxFound)
  const find = revocable.prepare()
  const requireUnchanged = precondition(db, sql`(SELECT json_group_array(id) FROM (${revocable})) = ${p('ids')}`)

  const revoked = { revokedAt: sql`${p('at')}` }
  const revokeGrants = db.update(oauthGrants).set(revoked).where(grantOfUser).toSQL()
  const revokeKeys = db.update(credentials).set(revoked).where(keyOfUser).toSQL()
  const revokeGrantsIn = db.update(oauthGrants).set(revoked)
    .where(and(eq(oauthGrants.accountId, p('account')), grantOfUser)).toSQL()
  const revokeKeysIn = db.update(credentials).set(revoked)
    .where(and(eq(credentials.accountId, p('account')), keyOfUser)).toSQL()
  crossAccountQueries.set(find.getQuery().sql, 'revocable access of a user')
  crossAccountQueries.set(requireUnchanged.sql, 'revocable access of a user, unchanged')
  crossAccountQueries.set(revokeGrants.sql, 'revocation of the grants of a user')
  crossAccountQueries.set(revokeKeys.sql, 'revocation of the fetched keys of a user')

  return {
    /** What gives clients access for a user now, ordered by account; at most `maxFound`. */
    find: (user: string, at: number) => runQuery(find, { user, at }),
    maxFound,
    /** Fails the unit unless `find` returns these ids, in this order, when it runs. */
    requireUnchanged: (user: string, ids: string[], at: number): Statement =>
      bind(requireUnchanged, { user, ids: JSON.stringify(ids), at }),
    /**
     * Revoke every grant of a user in all accounts, also those whose code is not used yet. Their tokens end with
     * them. Also revokes the keys that were fetched.
     */
    revokeAll: (user: string, at: number): Statement[] =>
      [revokeGrants, revokeKeys].map((query) => ({ ...bind(query, { user, at }), rows: maxFound })),
    /** The same in one account. */
    revokeInAccount: (accountId: string, user: string, at: number): Statement[] =>
      [revokeGrantsIn, revokeKeysIn].map((query) => ({
        ...bind(query, { account: accountId, user, at }),
        rows: maxFound,
      })),
  }
}
