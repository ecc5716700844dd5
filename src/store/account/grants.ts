import { and, desc, eq, exists, isNull, sql } from 'drizzle-orm'
import { agents, credentials, oauthGrants, users } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { hasLiveToken } from '../global/oauth-access.ts'
import type { OAuthScope } from '../global/oauth-grants.ts'
import { inAccount } from '../in-account.ts'

/** How many grants one list shows. */
const maxListed = 200

export function prepareGrants(db: Db) {
  const list = db.select({
    id: oauthGrants.id,
    clientId: oauthGrants.clientId,
    clientName: oauthGrants.clientName,
    scope: oauthGrants.scope,
    alias: agents.alias,
    email: users.email,
    createdAt: oauthGrants.createdAt,
    lastUsedAt: oauthGrants.lastUsedAt,
  }).from(oauthGrants)
    .innerJoin(users, eq(users.id, oauthGrants.userId))
    .leftJoin(agents, and(eq(agents.accountId, oauthGrants.accountId), eq(agents.id, oauthGrants.agentId)))
    .where(inAccount(oauthGrants, isNull(oauthGrants.revokedAt), hasLiveToken(db)))
    .orderBy(desc(oauthGrants.createdAt)).limit(maxListed).prepare()
  const live = inAccount(oauthGrants, eq(oauthGrants.id, p('id')), isNull(oauthGrants.revokedAt))
  const oneLive = db.select({ id: oauthGrants.id }).from(oauthGrants).where(live)
  const isLive = oneLive.prepare()
  const requireLive = precondition(db, exists(oneLive))
  const revoke = db.update(oauthGrants).set({ revokedAt: sql`${p('at')}` }).where(live).toSQL()
  const fetchedKeys = db.select({ one: sql`1` }).from(oauthGrants).where(inAccount(
    oauthGrants,
    eq(oauthGrants.id, p('id')),
    eq(oauthGrants.agentId, credentials.agentId),
    eq(oauthGrants.userId, credentials.userId),
  ))
  const revokeKeys = db.update(credentials).set({ revokedAt: sql`${p('at')}` })
    .where(
      inAccount(
        credentials,
        eq(credentials.kind, sql`'agent_key'`),
        isNull(credentials.revokedAt),
        exists(fetchedKeys),
      ),
    )
    .toSQL()
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
       * Grants of the account with a live token at `at`, newest first. `alias` is null for a grant to administer it.
       */
      list: (at: number) => account.all(list, { at }),
      isLive: async (id: string) => (await account.one(isLive, { id })) !== undefined,
    }),
    changes: (account: AccountBinding) => ({
      /** Fails the unit unless the grant is live when it runs. */
      requireLive: (id: string) => account.bind(requireLive, { id }),
      /** Revoke a grant with its tokens, and the keys that clients of its user fetched for the agent. */
      revoke: (
        id: string,
        at: number,
      ): Statement[] => [account.bind(revoke, { id, at }), account.bind(revokeKeys, { id, at })],
      /** Revoke the grants of a user, except those of the scopes `kept`. */
      revokeOfUser: (user: string, kept: readonly OAuthScope[], at: number) =>
        account.bind(revokeOfUser, { user, kept: JSON.stringify(kept), at }),
      markUsed: (id: string, at: number) => account.bind(markUsed, { id, at }),
    }),
  }
}
