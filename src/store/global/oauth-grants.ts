import { and, desc, eq, exists, gt, inArray, isNotNull, isNull, lte, or, sql } from 'drizzle-orm'
import { accounts, agents, memberships, oauthGrants, oauthRequests, oauthTokens } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, p, type Statement, value } from '../driver/binding.ts'
import {
  adminRoles,
  agentRoles,
  liveAgentOf,
  membershipOf,
  namedAgentOf,
  ofLiveGrant,
  stillMayAct,
} from './oauth-may-act.ts'

/** How many grants one list shows. */
const maxListed = 200

export type OAuthScope = typeof oauthGrants.$inferSelect.scope

/** What a person chose on a consent page. The rest of the grant is in the request. */
export interface NewGrant {
  id: string
  accountId: string
  /** Null: the account's admin. */
  agentId: string | null
  scope: OAuthScope
  codeHash: string
  codeExpiresAt: number
  expiresAt: number
}

/** A code as its client brings it back. `refreshId` is the refresh token that it is exchanged for. */
export interface BroughtCode {
  accountId: string
  codeHash: string
  clientId: string
  redirectUri: string
  codeChallenge: string
  refreshId: string
}

/** Joined to a request: whom the choice is about. */
const chosenMember = and(eq(memberships.accountId, p('account')), eq(memberships.userId, oauthRequests.userId))
const chosenAgent = and(
  eq(agents.accountId, p('account')),
  eq(agents.id, p('agentId')),
  eq(agents.type, sql`'mcp'`),
  isNull(agents.deletedAt),
)

export function prepareOAuthGrants(db: Db, crossings: Crossings) {
  const add = db.insert(oauthGrants).select(
    db.select({
      accountId: memberships.accountId,
      id: value('id'),
      userId: oauthRequests.userId,
      clientId: oauthRequests.clientId,
      clientName: oauthRequests.clientName,
      agentId: value<string | null>('agentId'),
      scope: value<OAuthScope>('scope'),
      resource: oauthRequests.resource,
      redirectUri: oauthRequests.redirectUri,
      codeHash: value('codeHash'),
      codeChallenge: oauthRequests.codeChallenge,
      codeExpiresAt: value<number>('codeExpiresAt'),
      codeUsedAt: sql<null>`NULL`.as('code_used_at'),
      codeTakenBy: sql<null>`NULL`.as('code_taken_by'),
      createdAt: value<number>('at'),
      expiresAt: value<number>('expiresAt'),
      lastUsedAt: sql<null>`NULL`.as('last_used_at'),
      revokedAt: sql<null>`NULL`.as('revoked_at'),
    }).from(oauthRequests).innerJoin(memberships, chosenMember).leftJoin(agents, chosenAgent)
      .where(and(
        eq(oauthRequests.handleHash, p('handleHash')),
        eq(oauthRequests.grantId, p('id')),
        or(
          and(sql`${p('agentId')} IS NULL`, inArray(memberships.role, [...adminRoles])),
          and(isNotNull(agents.id), inArray(memberships.role, [...agentRoles])),
        ),
      )),
  ).onConflictDoUpdate({ target: [oauthGrants.accountId, oauthGrants.id], set: { id: sql`excluded.id` } })
    .returning({ id: oauthGrants.id }).toSQL()

  const fields = {
    accountId: oauthGrants.accountId,
    id: oauthGrants.id,
    clientId: oauthGrants.clientId,
    agentId: oauthGrants.agentId,
    scope: oauthGrants.scope,
    resource: oauthGrants.resource,
    redirectUri: oauthGrants.redirectUri,
    codeChallenge: oauthGrants.codeChallenge,
    codeExpiresAt: oauthGrants.codeExpiresAt,
    codeUsedAt: oauthGrants.codeUsedAt,
    expiresAt: oauthGrants.expiresAt,
  }
  const byCode = db.select(fields).from(oauthGrants).where(eq(oauthGrants.codeHash, p('hash'))).prepare()
  crossings.set(byCode.getQuery().sql, 'grant by code')

  const collect = db.update(oauthGrants).set({ codeUsedAt: sql`${p('at')}`, codeTakenBy: sql`${p('refreshId')}` })
    .where(and(
      eq(oauthGrants.accountId, p('account')),
      eq(oauthGrants.codeHash, p('codeHash')),
      eq(oauthGrants.clientId, p('clientId')),
      eq(oauthGrants.redirectUri, p('redirectUri')),
      eq(oauthGrants.codeChallenge, p('codeChallenge')),
      gt(oauthGrants.codeExpiresAt, p('at')),
      or(isNull(oauthGrants.codeUsedAt), eq(oauthGrants.codeTakenBy, p('refreshId'))),
      ofLiveGrant(db, { accountId: oauthGrants.accountId, grantId: oauthGrants.id }, p('at')),
    )).returning({ id: oauthGrants.id }).toSQL()

  const revoke = db.update(oauthGrants).set({ revokedAt: sql`${p('at')}` })
    .where(and(eq(oauthGrants.accountId, p('account')), eq(oauthGrants.id, p('id')), isNull(oauthGrants.revokedAt)))
    .returning({ id: oauthGrants.id }).toSQL()

  const liveToken = db.select({ one: sql`1` }).from(oauthTokens).where(and(
    eq(oauthTokens.accountId, oauthGrants.accountId),
    eq(oauthTokens.grantId, oauthGrants.id),
    isNull(oauthTokens.revokedAt),
    gt(oauthTokens.expiresAt, p('at')),
  ))
  const ofUser = db.select({
    accountId: oauthGrants.accountId,
    id: oauthGrants.id,
    clientId: oauthGrants.clientId,
    clientName: oauthGrants.clientName,
    scope: oauthGrants.scope,
    alias: agents.alias,
    accountName: accounts.name,
    createdAt: oauthGrants.createdAt,
    lastUsedAt: oauthGrants.lastUsedAt,
  }).from(oauthGrants)
    .innerJoin(accounts, eq(accounts.id, oauthGrants.accountId))
    .innerJoin(memberships, membershipOf(oauthGrants))
    .leftJoin(agents, liveAgentOf(oauthGrants))
    .where(and(
      eq(oauthGrants.userId, p('user')),
      isNull(oauthGrants.revokedAt),
      exists(liveToken),
      stillMayAct(oauthGrants.agentId),
    )).orderBy(desc(oauthGrants.createdAt)).limit(maxListed).prepare()
  const ofUserById = db.select({
    accountId: oauthGrants.accountId,
    id: oauthGrants.id,
    clientId: oauthGrants.clientId,
    clientName: oauthGrants.clientName,
    alias: agents.alias,
    role: memberships.role,
  }).from(oauthGrants)
    .innerJoin(memberships, membershipOf(oauthGrants))
    .leftJoin(agents, namedAgentOf(oauthGrants))
    .where(and(
      eq(oauthGrants.userId, p('user')),
      eq(oauthGrants.id, p('id')),
      isNull(oauthGrants.revokedAt),
    )).prepare()
  crossings.set(ofUser.getQuery().sql, 'grants of a person')
  crossings.set(ofUserById.getQuery().sql, 'grant of a person by id')

  const isDead = or(
    lte(oauthGrants.expiresAt, p('at')),
    and(isNotNull(oauthGrants.revokedAt), lte(oauthGrants.revokedAt, p('at'))),
    and(isNull(oauthGrants.codeUsedAt), lte(oauthGrants.codeExpiresAt, p('at'))),
  )
  const tokensOfDead = db.select({ row: sql`oauth_tokens.rowid` }).from(oauthTokens)
    .innerJoin(
      oauthGrants,
      and(eq(oauthGrants.accountId, oauthTokens.accountId), eq(oauthGrants.id, oauthTokens.grantId)),
    )
    .where(isDead).limit(p('limit'))
  const removeTokensOfDead = db.delete(oauthTokens).where(sql`rowid IN ${tokensOfDead}`).returning({
    id: oauthTokens.id,
  })
    .toSQL()
  const emptyDead = db.select({ row: sql`oauth_grants.rowid` }).from(oauthGrants)
    .leftJoin(
      oauthTokens,
      and(eq(oauthTokens.accountId, oauthGrants.accountId), eq(oauthTokens.grantId, oauthGrants.id)),
    )
    .where(and(isDead, isNull(oauthTokens.id))).limit(p('limit'))
  const removeDead = db.delete(oauthGrants).where(sql`rowid IN ${emptyDead}`).returning({ id: oauthGrants.id }).toSQL()
  crossings.set(removeTokensOfDead.sql, 'tokens of ended grants')
  crossings.set(removeDead.sql, 'ended grants')

  return {
    /** No row when the request was not taken for this grant, or the person may not choose this any more. */
    add: ({ accountId, ...grant }: NewGrant, handleHash: string, at: number): Statement =>
      bind(add, { ...grant, account: accountId, handleHash, at }),
    /** The grant behind a code, whatever has become of it. */
    byCode: async (hash: string) => (await ask(byCode, { hash }))[0],
    /** Take the code, once: a row comes back only when all of it is right, and everything behind it still lives. */
    collect: ({ accountId, ...code }: BroughtCode, at: number): Statement =>
      bind(collect, { ...code, account: accountId, at }),
    /** End a grant: all its tokens with it. No row when it had ended before. */
    revoke: (accountId: string, id: string, at: number): Statement => bind(revoke, { account: accountId, id, at }),
    /** The live grants of a person, newest first. `alias` is null for the account's admin. */
    ofUser: (user: string, at: number) => ask(ofUser, { user, at }),
    /** A grant that has not ended, of somebody who still belongs to its account. */
    ofUserById: async (user: string, id: string) => (await ask(ofUserById, { user, id }))[0],
    /** Tokens first: a grant goes when it has none. */
    removeEnded: (at: number, limit: number): Statement[] =>
      [removeTokensOfDead, removeDead].map((query) => ({ ...bind(query, { at, limit }), rows: limit })),
  }
}
