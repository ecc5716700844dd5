import { and, desc, eq, exists, isNull, type SQL, sql } from 'drizzle-orm'
import { agents, credentials, oauthGrants, users } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { fetchedKey, givesAccess } from '../global/oauth-access.ts'
import type { OAuthScope } from '../global/oauth-grants.ts'
import { inAccount } from '../in-account-old.ts'

/** How many grants one list shows. */
const maxListed = 200

export function prepareGrants(db: Db) {
  const listed = {
    id: oauthGrants.id,
    clientId: oauthGrants.clientId,
    clientName: oauthGrants.clientName,
    scope: oauthGrants.scope,
    alias: agents.alias,
    userId: oauthGrants.userId,
    email: users.email,
    createdAt: oauthGrants.createdAt,
    lastUsedAt: oauthGrants.lastUsedAt,
    keyLast4: credentials.last4,
    keyLastUsedAt: credentials.lastUsedAt,
  }
  const listOf = (...conditions: SQL[]) =>
    db.select(listed).from(oauthGrants)
      .innerJoin(users, eq(users.id, oauthGrants.userId))
      .leftJoin(agents, and(eq(agents.accountId, oauthGrants.accountId), eq(agents.id, oauthGrants.agentId)))
      .leftJoin(credentials, fetchedKey(db))
      .where(inAccount(oauthGrants, givesAccess(db), ...conditions))
      .orderBy(desc(oauthGrants.createdAt)).limit(maxListed).prepare()
  const list = listOf()
  const listOfAgent = listOf(eq(oauthGrants.agentId, p('agent')))
  const live = inAccount(oauthGrants, eq(oauthGrants.id, p('id')), isNull(oauthGrants.revokedAt))
  const oneLive = db.select({ clientName: oauthGrants.clientName }).from(oauthGrants).where(live)
  const oneLiveById = oneLive.prepare()
  const requireLive = precondition(db, exists(oneLive))
  const revoke = db.update(oauthGrants).set({ revokedAt: sql`${p('at')}` }).where(live).toSQL()
  const revokeOfUser = db.update(oauthGrants).set({ revokedAt: sql`${p('at')}` }).where(inAccount(
    oauthGrants,
    eq(oauthGrants.userId, p('user')),
    isNull(oauthGrants.revokedAt),
    sql`${oauthGrants.scope} NOT IN (SELECT value FROM json_each(${p('kept')}))`,
  )).toSQL()
  const markUsed = db.update(oauthGrants).set({ lastUsedAt: sql`${p('at')}` })
    .where(inAccount(oauthGrants, eq(oauthGrants.id, p('id')))).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /**
       * Grants of the account that give access at `at`, by a token or by a fetched key, newest first. `alias` is null for
       * a grant to administer it, `keyLast4` if no key was fetched.
       */
      list: (at: number) => account.all(list, { at }),
      /** Those among them that let their client act as the agent. */
      ofAgent: (agent: string, at: number) => account.all(listOfAgent, { agent, at }),
      /** The grant, unless it was revoked. */
      live: (id: string) => account.one(oneLiveById, { id }),
    }),
    changes: (account: AccountBinding) => ({
      /** Fails the unit unless the grant is live when it runs. */
      requireLive: (id: string) => account.bind(requireLive, { id }),
      /** Revoke a grant. Its tokens and the key that was fetched with it end with it. */
      revoke: (id: string, at: number) => account.bind(revoke, { id, at }),
      /** Revoke the grants of a user, except those of the scopes `kept`. */
      revokeOfUser: (user: string, kept: readonly OAuthScope[], at: number) =>
        account.bind(revokeOfUser, { user, kept: JSON.stringify(kept), at }),
      markUsed: (id: string, at: number) => ({ ...account.bind(markUsed, { id, at }), isTraffic: true }),
    }),
  }
}
