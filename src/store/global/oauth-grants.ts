import { and, desc, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm'
import {
  accounts,
  agents,
  credentials,
  memberships,
  oauthGrants,
  oauthRequests,
  oauthTokens,
} from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import {
  belongsToLiveGrant,
  fetchedKey,
  givesAccess,
  grantedAgent,
  grantedLiveAgent,
  grantMembership,
  roleAllowsGrant,
  roleHas,
} from './oauth-access.ts'

/** How many grants one list shows. */
const maxListed = 200

export type OAuthScope = typeof oauthGrants.$inferSelect.scope

/** What a user chose on a consent page. The rest of the grant is taken from the consent request. */
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

/** An authorization code and what its client must repeat. `refreshId` is the refresh token that it is exchanged for. */
export interface CodeExchange {
  accountId: string
  codeHash: string
  clientId: string
  redirectUri: string
  codeChallenge: string
  refreshId: string
}

/** Joined to a consent request: the membership and the agent that the user chose. */
const chosenMember = and(eq(memberships.accountId, p('account')), eq(memberships.userId, oauthRequests.userId))
const chosenAgent = and(
  eq(agents.accountId, p('account')),
  eq(agents.id, p('agentId')),
  eq(agents.type, sql`'mcp'`),
  isNull(agents.deletedAt),
)

export function prepareOAuthGrants(db: Db, crossAccountQueries: CrossAccountQueries) {
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
          and(sql`${p('agentId')} IS NULL`, roleHas('manage')),
          and(isNotNull(agents.id), roleHas('use')),
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
  crossAccountQueries.set(byCode.getQuery().sql, 'grant by code')

  const exchangeCode = db.update(oauthGrants).set({ codeUsedAt: sql`${p('at')}`, codeTakenBy: sql`${p('refreshId')}` })
    .where(and(
      eq(oauthGrants.accountId, p('account')),
      eq(oauthGrants.codeHash, p('codeHash')),
      eq(oauthGrants.clientId, p('clientId')),
      eq(oauthGrants.redirectUri, p('redirectUri')),
      eq(oauthGrants.codeChallenge, p('codeChallenge')),
      gt(oauthGrants.codeExpiresAt, p('at')),
      or(isNull(oauthGrants.codeUsedAt), eq(oauthGrants.codeTakenBy, p('refreshId'))),
      belongsToLiveGrant(db, { accountId: oauthGrants.accountId, grantId: oauthGrants.id }, p('at')),
    )).returning({ id: oauthGrants.id }).toSQL()

  const revoke = db.update(oauthGrants).set({ revokedAt: sql`${p('at')}` })
    .where(and(eq(oauthGrants.accountId, p('account')), eq(oauthGrants.id, p('id')), isNull(oauthGrants.revokedAt)))
    .returning({ id: oauthGrants.id }).toSQL()

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
    keyLast4: credentials.last4,
    keyLastUsedAt: credentials.lastUsedAt,
  }).from(oauthGrants)
    .innerJoin(accounts, eq(accounts.id, oauthGrants.accountId))
    .innerJoin(memberships, grantMembership(oauthGrants))
    .leftJoin(agents, grantedLiveAgent(oauthGrants))
    .leftJoin(credentials, fetchedKey(db))
    .where(and(
      eq(oauthGrants.userId, p('user')),
      givesAccess(db),
      roleAllowsGrant(oauthGrants.agentId),
    )).orderBy(desc(oauthGrants.createdAt)).limit(maxListed).prepare()
  const ofUserById = db.select({
    accountId: oauthGrants.accountId,
    id: oauthGrants.id,
    clientId: oauthGrants.clientId,
    clientName: oauthGrants.clientName,
    alias: agents.alias,
    role: memberships.role,
  }).from(oauthGrants)
    .innerJoin(memberships, grantMembership(oauthGrants))
    .leftJoin(agents, grantedAgent(oauthGrants))
    .where(and(
      eq(oauthGrants.userId, p('user')),
      eq(oauthGrants.id, p('id')),
      isNull(oauthGrants.revokedAt),
    )).prepare()
  crossAccountQueries.set(ofUser.getQuery().sql, 'grants of a user')
  crossAccountQueries.set(ofUserById.getQuery().sql, 'grant of a user by id')

  const approved = db.select({ one: sql`1` }).from(oauthGrants).where(and(
    eq(oauthGrants.userId, p('user')),
    eq(oauthGrants.clientId, p('client')),
    isNull(oauthGrants.revokedAt),
    gt(oauthGrants.expiresAt, p('at')),
  )).limit(1).prepare()
  crossAccountQueries.set(approved.getQuery().sql, 'grant of a user to a client')

  const isEnded = or(
    lte(oauthGrants.expiresAt, p('at')),
    and(isNotNull(oauthGrants.revokedAt), lte(oauthGrants.revokedAt, p('at'))),
    and(isNull(oauthGrants.codeUsedAt), lte(oauthGrants.codeExpiresAt, p('at'))),
  )
  const tokensOfEnded = db.select({ row: sql`oauth_tokens.rowid` }).from(oauthTokens)
    .innerJoin(
      oauthGrants,
      and(eq(oauthGrants.accountId, oauthTokens.accountId), eq(oauthGrants.id, oauthTokens.grantId)),
    )
    .where(isEnded).limit(p('limit'))
  const removeTokensOfEnded = db.delete(oauthTokens).where(sql`rowid IN ${tokensOfEnded}`).returning({
    id: oauthTokens.id,
  })
    .toSQL()
  const endedWithoutTokens = db.select({ row: sql`oauth_grants.rowid` }).from(oauthGrants)
    .leftJoin(
      oauthTokens,
      and(eq(oauthTokens.accountId, oauthGrants.accountId), eq(oauthTokens.grantId, oauthGrants.id)),
    )
    .where(and(isEnded, isNull(oauthTokens.id))).limit(p('limit'))
  const removeEnded = db.delete(oauthGrants).where(sql`rowid IN ${endedWithoutTokens}`).returning({
    id: oauthGrants.id,
  }).toSQL()
  crossAccountQueries.set(removeTokensOfEnded.sql, 'tokens of ended grants')
  crossAccountQueries.set(removeEnded.sql, 'ended grants')

  return {
    /** No row if the request was not completed with this grant, or the user may no longer choose this. */
    add: ({ accountId, ...grant }: NewGrant, handleHash: string, at: number): Statement =>
      bind(add, { ...grant, account: accountId, handleHash, at }),
    /** The grant of a code, also if it is revoked or expired. */
    byCode: async (hash: string) => (await runQuery(byCode, { hash }))[0],
    /** Use the code, once. Returns a row only if everything matches and the grant is live. */
    exchangeCode: ({ accountId, ...code }: CodeExchange, at: number): Statement =>
      bind(exchangeCode, { ...code, account: accountId, at }),
    /** Revoke a grant, and with it its tokens and the key that was fetched. No row if it was revoked already. */
    revoke: (accountId: string, id: string, at: number): Statement => bind(revoke, { account: accountId, id, at }),
    /** The grants of a user that give access at `at`, newest first. `alias` and `keyLast4` as in a list of the account. */
    ofUser: (user: string, at: number) => runQuery(ofUser, { user, at }),
    /** A grant that is not revoked, if its user still belongs to its account. */
    ofUserById: async (user: string, id: string) => (await runQuery(ofUserById, { user, id }))[0],
    /** Whether the user gave the client a grant, in any account, that neither ended nor expired. */
    hasApproved: async (user: string, client: string, at: number) =>
      (await runQuery(approved, { user, client, at })).length > 0,
    /** Tokens first: a grant is deleted when it has none left. */
    removeEnded: (at: number, limit: number): Statement[] =>
      [removeTokensOfEnded, removeEnded].map((query) => ({ ...bind(query, { at, limit }), rows: limit })),
  }
}
