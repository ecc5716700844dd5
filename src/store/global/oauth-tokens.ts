import { and, eq, gt, isNotNull, isNull, lte, notExists, or, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { agents, memberships, oauthGrants, oauthTokens } from '../../../db/schema.ts'
import { isOnTrial } from '../account/agents.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { belongsToLiveGrant, grantedAgent, grantedLiveAgent, grantMembership, roleAllowsGrant } from './oauth-access.ts'

/** A live access token and its grant. `id` is the id of the grant: the credential in the activity log. */
export type AccessToken = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareOAuthTokens>['byAccessHash']>>>

/** A new token as stored. */
export interface NewOAuthToken {
  id: string
  kind: 'access' | 'refresh'
  hash: string
  expiresAt: number
}

/** A refresh token, or a code, as its client presents it. `refreshId` is the refresh token that it is exchanged for. */
export interface RefreshExchange {
  accountId: string
  hash: string
  refreshId: string
}

export function prepareOAuthTokens(db: Db, crossAccountQueries: CrossAccountQueries) {
  const grantOf = and(eq(oauthGrants.accountId, oauthTokens.accountId), eq(oauthGrants.id, oauthTokens.grantId))
  const byAccessHash = db.select({
    accountId: oauthTokens.accountId,
    id: oauthGrants.id,
    userId: oauthGrants.userId,
    grantedAgentId: oauthGrants.agentId,
    agentId: agents.id,
    alias: agents.alias,
    onTrial: isOnTrial(db),
    lastUsedAt: oauthGrants.lastUsedAt,
  }).from(oauthTokens)
    .innerJoin(oauthGrants, grantOf)
    .innerJoin(memberships, grantMembership(oauthGrants))
    .leftJoin(agents, grantedLiveAgent(oauthGrants))
    .where(and(
      eq(oauthTokens.hash, p('hash')),
      eq(oauthTokens.kind, sql`'access'`),
      gt(oauthTokens.expiresAt, p('at')),
      isNull(oauthTokens.revokedAt),
      isNull(oauthGrants.revokedAt),
      roleAllowsGrant(oauthGrants.agentId),
    )).prepare()
  const byHash = db.select({
    accountId: oauthTokens.accountId,
    id: oauthTokens.id,
    kind: oauthTokens.kind,
    grantId: oauthTokens.grantId,
    clientId: oauthGrants.clientId,
    clientName: oauthGrants.clientName,
    userId: oauthGrants.userId,
    agentId: oauthGrants.agentId,
    alias: agents.alias,
    scope: oauthGrants.scope,
    resource: oauthGrants.resource,
    grantExpiresAt: oauthGrants.expiresAt,
    revokedAt: oauthGrants.revokedAt,
    expiresAt: oauthTokens.expiresAt,
    usedAt: oauthTokens.usedAt,
  }).from(oauthTokens)
    .innerJoin(oauthGrants, grantOf)
    .leftJoin(agents, grantedAgent(oauthGrants))
    .where(eq(oauthTokens.hash, p('hash'))).prepare()
  crossAccountQueries.set(byAccessHash.getQuery().sql, 'access token by hash')
  crossAccountQueries.set(byHash.getQuery().sql, 'OAuth token by hash')

  const ofAccountByHash = and(eq(oauthTokens.accountId, p('account')), eq(oauthTokens.hash, p('hash')))
  const child = alias(oauthTokens, 'child')
  const usedChild = db.select({ one: sql`1` }).from(child).where(and(
    eq(child.accountId, oauthTokens.accountId),
    eq(child.parentId, oauthTokens.id),
    isNotNull(child.usedAt),
  ))
  const isInGrace = and(gt(oauthTokens.usedAt, p('graceSince')), notExists(usedChild))
  const rotate = db.update(oauthTokens)
    .set({ usedAt: sql`coalesce(${oauthTokens.usedAt}, ${p('at')})`, successorId: sql`${p('refreshId')}` })
    .where(and(
      ofAccountByHash,
      eq(oauthTokens.kind, sql`'refresh'`),
      gt(oauthTokens.expiresAt, p('at')),
      or(isNull(oauthTokens.usedAt), isInGrace, eq(oauthTokens.successorId, p('refreshId'))),
      belongsToLiveGrant(db, oauthTokens, p('at')),
    )).returning({ id: oauthTokens.id }).toSQL()

  const newToken = {
    id: value('id'),
    grantId: sql<string>`${oauthGrants.id}`.as('grant_id'),
    kind: value<'access' | 'refresh'>('kind'),
    hash: value('newHash'),
    parentId: sql<string | null>`NULL`.as('parent_id'),
    createdAt: value<number>('at'),
    expiresAt: value<number>('expiresAt'),
    usedAt: sql<null>`NULL`.as('used_at'),
    successorId: sql<null>`NULL`.as('successor_id'),
    revokedAt: sql<null>`NULL`.as('revoked_at'),
  }
  const addForCode = db.insert(oauthTokens).select(
    db.select({ accountId: oauthGrants.accountId, ...newToken }).from(oauthGrants).where(and(
      eq(oauthGrants.accountId, p('account')),
      eq(oauthGrants.codeHash, p('hash')),
      eq(oauthGrants.codeTakenBy, p('refreshId')),
    )),
  ).onConflictDoNothing().toSQL()
  const parent = alias(oauthTokens, 'parent')
  const addForRefresh = db.insert(oauthTokens).select(
    db.select({
      accountId: parent.accountId,
      ...newToken,
      grantId: parent.grantId,
      parentId: sql<string | null>`${parent.id}`.as('parent_id'),
    }).from(parent).where(and(
      eq(parent.accountId, p('account')),
      eq(parent.hash, p('hash')),
      eq(parent.successorId, p('refreshId')),
    )),
  ).onConflictDoNothing().toSQL()

  const revoke = db.update(oauthTokens).set({ revokedAt: sql`${p('at')}` })
    .where(and(ofAccountByHash, isNull(oauthTokens.revokedAt))).toSQL()
  const expired = db.select({ row: sql`rowid` }).from(oauthTokens).where(lte(oauthTokens.expiresAt, p('at')))
    .limit(p('limit'))
  const removeExpired = db.delete(oauthTokens).where(sql`rowid IN ${expired}`).returning({ id: oauthTokens.id }).toSQL()
  crossAccountQueries.set(removeExpired.sql, 'expired OAuth tokens')

  return {
    /** The access token with this SHA-256, if it and its grant are live. */
    byAccessHash: async (hash: string, at: number) => (await runQuery(byAccessHash, { hash, at }))[0],
    /** A token of either kind with its grant, also if they are revoked or expired. */
    byHash: async (hash: string) => (await runQuery(byHash, { hash }))[0],
    /**
     * Use a refresh token. Returns a row if its grant is live and this is its first use, or a repeat: the first use
     * was after `graceSince` and no token issued for it was used.
     */
    rotate: ({ accountId, ...token }: RefreshExchange, graceSince: number, at: number): Statement =>
      bind(rotate, { ...token, account: accountId, graceSince, at }),
    /** Does nothing unless the code was exchanged for this refresh token earlier in the same unit. */
    addForCode: (exchange: RefreshExchange, token: NewOAuthToken, at: number): Statement =>
      boundToken(addForCode, exchange, token, at),
    /** Does nothing unless the refresh token was rotated to this one earlier in the same unit. */
    addForRefresh: (exchange: RefreshExchange, token: NewOAuthToken, at: number): Statement =>
      boundToken(addForRefresh, exchange, token, at),
    revoke: (accountId: string, hash: string, at: number): Statement => bind(revoke, { account: accountId, hash, at }),
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}

function boundToken(
  query: Parameters<typeof bind>[0],
  { accountId, hash, refreshId }: RefreshExchange,
  { hash: newHash, ...token }: NewOAuthToken,
  at: number,
): Statement {
  return bind(query, { ...token, newHash, hash, refreshId, account: accountId, at })
}
