import { and, desc, eq, exists, gt, isNull, sql } from 'drizzle-orm'
import { agents, credentials, oauthGrants, oauthTokens, users } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, own, p, type Scope, type Statement } from '../driver/binding.ts'

/** How many grants one list shows. */
const maxListed = 200

type OAuthScope = typeof oauthGrants.$inferSelect.scope

export function prepareGrants(db: Db) {
  const liveToken = db.select({ one: sql`1` }).from(oauthTokens).where(own(
    oauthTokens,
    eq(oauthTokens.grantId, oauthGrants.id),
    isNull(oauthTokens.revokedAt),
    gt(oauthTokens.expiresAt, p('at')),
  ))
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
    .where(own(oauthGrants, isNull(oauthGrants.revokedAt), exists(liveToken)))
    .orderBy(desc(oauthGrants.createdAt)).limit(maxListed).prepare()
  const live = own(oauthGrants, eq(oauthGrants.id, p('id')), isNull(oauthGrants.revokedAt))
  const oneLive = db.select({ id: oauthGrants.id }).from(oauthGrants).where(live)
  const isLive = oneLive.prepare()
  const requireLive = demand(db, exists(oneLive))
  const revoke = db.update(oauthGrants).set({ revokedAt: sql`${p('at')}` }).where(live).toSQL()
  const fetchedKeys = db.select({ one: sql`1` }).from(oauthGrants).where(own(
    oauthGrants,
    eq(oauthGrants.id, p('id')),
    eq(oauthGrants.agentId, credentials.agentId),
    eq(oauthGrants.userId, credentials.userId),
  ))
  const revokeKeys = db.update(credentials).set({ revokedAt: sql`${p('at')}` })
    .where(own(credentials, eq(credentials.kind, sql`'agent_key'`), isNull(credentials.revokedAt), exists(fetchedKeys)))
    .toSQL()
  const revokeOfUser = db.update(oauthGrants).set({ revokedAt: sql`${p('at')}` }).where(own(
    oauthGrants,
    eq(oauthGrants.userId, p('user')),
    isNull(oauthGrants.revokedAt),
    sql`${oauthGrants.scope} NOT IN (SELECT value FROM json_each(${p('kept')}))`,
  )).toSQL()
  const used = db.update(oauthGrants).set({ lastUsedAt: sql`${p('at')}` })
    .where(own(oauthGrants, eq(oauthGrants.id, p('id')))).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** Grants of the account that have a token at `at`, newest first. `alias` is null for its admin. */
      list: (at: number) => scope.all(list, { at }),
      isLive: async (id: string) => (await scope.one(isLive, { id })) !== undefined,
    }),
    changes: (scope: Scope) => ({
      /** Fails the unit unless the grant is live when it runs. */
      requireLive: (id: string) => scope.bind(requireLive, { id }),
      /** End a grant: all its tokens with it, and the key that its person's clients fetched for the agent. */
      revoke: (
        id: string,
        at: number,
      ): Statement[] => [scope.bind(revoke, { id, at }), scope.bind(revokeKeys, { id, at })],
      /** End what a person granted, but for the scopes they may still grant. */
      revokeOfUser: (user: string, kept: readonly OAuthScope[], at: number) =>
        scope.bind(revokeOfUser, { user, kept: JSON.stringify(kept), at }),
      used: (id: string, at: number) => scope.bind(used, { id, at }),
    }),
  }
}
