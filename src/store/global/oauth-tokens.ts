import { and, eq, gt, isNotNull, isNull, lte, notExists, or, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { agents, memberships, oauthGrants, oauthTokens } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { isOnTrial } from '../account/agents.ts'
import { ask, bind, p, type Statement, value } from '../driver/binding.ts'
import { liveAgentOf, membershipOf, namedAgentOf, ofLiveGrant, stillMayAct } from './oauth-may-act.ts'

/** A live access token, and whom it stands for. `id` is the grant's: the credential of the activity log. */
export type AccessToken = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareOAuthTokens>['byAccessHash']>>>

/** A new token as stored. */
export interface NewToken {
  id: string
  kind: 'access' | 'refresh'
  hash: string
  expiresAt: number
}

/** A refresh token as its client brings it back; `refreshId` is the one that replaces it. */
export interface BroughtRefresh {
  accountId: string
  hash: string
  refreshId: string
}

export function prepareOAuthTokens(db: Db, crossings: Crossings) {
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
    .innerJoin(memberships, membershipOf(oauthGrants))
    .leftJoin(agents, liveAgentOf(oauthGrants))
    .where(and(
      eq(oauthTokens.hash, p('hash')),
      eq(oauthTokens.kind, sql`'access'`),
      gt(oauthTokens.expiresAt, p('at')),
      isNull(oauthTokens.revokedAt),
      isNull(oauthGrants.revokedAt),
      stillMayAct(oauthGrants.agentId),
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
    .leftJoin(agents, namedAgentOf(oauthGrants))
    .where(eq(oauthTokens.hash, p('hash'))).prepare()
  crossings.set(byAccessHash.getQuery().sql, 'access token by hash')
  crossings.set(byHash.getQuery().sql, 'OAuth token by hash')

  const mineByHash = and(eq(oauthTokens.accountId, p('account')), eq(oauthTokens.hash, p('hash')))
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
      mineByHash,
      eq(oauthTokens.kind, sql`'refresh'`),
      gt(oauthTokens.expiresAt, p('at')),
      or(isNull(oauthTokens.usedAt), isInGrace, eq(oauthTokens.successorId, p('refreshId'))),
      ofLiveGrant(db, oauthTokens, p('at')),
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
    .where(and(mineByHash, isNull(oauthTokens.revokedAt))).toSQL()
  const expired = db.select({ row: sql`rowid` }).from(oauthTokens).where(lte(oauthTokens.expiresAt, p('at')))
    .limit(p('limit'))
  const removeExpired = db.delete(oauthTokens).where(sql`rowid IN ${expired}`).returning({ id: oauthTokens.id }).toSQL()
  crossings.set(removeExpired.sql, 'expired OAuth tokens')

  return {
    /** The access token with this SHA-256, unless it has ended or what it stood for has gone. */
    byAccessHash: async (hash: string, at: number) => (await ask(byAccessHash, { hash, at }))[0],
    /** A token of either kind with its grant, whatever has become of them. */
    byHash: async (hash: string) => (await ask(byHash, { hash }))[0],
    /**
     * Take a refresh token: a row comes back when it is used for the first time, or again after `graceSince`
     * while no token made for it was used, and everything behind it still lives.
     */
    rotate: ({ accountId, ...token }: BroughtRefresh, graceSince: number, at: number): Statement =>
      bind(rotate, { ...token, account: accountId, graceSince, at }),
    /** Does nothing unless the code was taken for this refresh token just before, in the same unit. */
    addForCode: (brought: BroughtRefresh, token: NewToken, at: number): Statement =>
      added(addForCode, brought, token, at),
    /** The same for the refresh token that was used. */
    addForRefresh: (brought: BroughtRefresh, token: NewToken, at: number): Statement =>
      added(addForRefresh, brought, token, at),
    revoke: (accountId: string, hash: string, at: number): Statement => bind(revoke, { account: accountId, hash, at }),
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}

function added(
  query: Parameters<typeof bind>[0],
  { accountId, hash, refreshId }: BroughtRefresh,
  { hash: newHash, ...token }: NewToken,
  at: number,
): Statement {
  return bind(query, { ...token, newHash, hash, refreshId, account: accountId, at })
}
