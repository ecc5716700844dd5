/** The end of everything that a person let OAuth clients do, in all accounts. */
import { and, eq, exists, gt, isNull, or, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/sqlite-core'
import { agents, credentials, oauthGrants, oauthTokens } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, demand, p, type Statement } from '../driver/binding.ts'
import { namedAgentOf } from './oauth-may-act.ts'

/** How much one look finds. A unit that ends more of it than this has the weight of so much. */
const maxFound = 200

/** Something that would end: a grant, or without a client a key that was fetched with one. */
export type Ending = Awaited<ReturnType<ReturnType<typeof prepareOAuthEnds>['found']>>[number]

export function prepareOAuthEnds(db: Db, crossings: Crossings) {
  // What still opens something: a grant with a token or with a code to collect, and a key.
  const liveToken = db.select({ one: sql`1` }).from(oauthTokens).where(and(
    eq(oauthTokens.accountId, oauthGrants.accountId),
    eq(oauthTokens.grantId, oauthGrants.id),
    isNull(oauthTokens.revokedAt),
    gt(oauthTokens.expiresAt, p('at')),
  ))
  const canBeCollected = and(isNull(oauthGrants.codeUsedAt), gt(oauthGrants.codeExpiresAt, p('at')))
  const grantOfUser = and(eq(oauthGrants.userId, p('user')), isNull(oauthGrants.revokedAt))
  const keyOfUser = and(
    eq(credentials.userId, p('user')),
    eq(credentials.kind, sql`'agent_key'`),
    isNull(credentials.revokedAt),
  )
  const ending = unionAll(
    db.select({
      accountId: oauthGrants.accountId,
      id: oauthGrants.id,
      clientId: sql<string | null>`${oauthGrants.clientId}`.as('client_id'),
      clientName: sql<string | null>`${oauthGrants.clientName}`.as('client_name'),
      alias: agents.alias,
    }).from(oauthGrants).leftJoin(agents, namedAgentOf(oauthGrants))
      .where(and(grantOfUser, or(exists(liveToken), canBeCollected))),
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
  const found = ending.prepare()
  const requireFound = demand(db, sql`(SELECT json_group_array(id) FROM (${ending})) = ${p('ids')}`)

  const ended = { revokedAt: sql`${p('at')}` }
  const endGrants = db.update(oauthGrants).set(ended).where(grantOfUser).toSQL()
  const endKeys = db.update(credentials).set(ended).where(keyOfUser).toSQL()
  const endGrantsIn = db.update(oauthGrants).set(ended)
    .where(and(eq(oauthGrants.accountId, p('account')), grantOfUser)).toSQL()
  const endKeysIn = db.update(credentials).set(ended)
    .where(and(eq(credentials.accountId, p('account')), keyOfUser)).toSQL()
  crossings.set(found.getQuery().sql, 'what a person let programs do')
  crossings.set(requireFound.sql, 'what a person still lets programs do')
  crossings.set(endGrants.sql, 'end of the grants of a person')
  crossings.set(endKeys.sql, 'end of the fetched keys of a person')

  return {
    /** What of a person's lets a program in now, account by account: at most `maxFound`, and whether that is all. */
    found: (user: string, at: number) => ask(found, { user, at }),
    maxFound,
    /** Fails the unit unless `found` finds these ids, in its order, when it runs. */
    requireFound: (user: string, ids: string[], at: number): Statement =>
      bind(requireFound, { user, ids: JSON.stringify(ids), at }),
    /**
     * End every grant of a person, in all accounts, also of those whose code nobody has collected yet: all their
     * tokens with them, and the keys that were fetched.
     */
    ofUser: (user: string, at: number): Statement[] =>
      [endGrants, endKeys].map((query) => ({ ...bind(query, { user, at }), rows: maxFound })),
    /** The same in one account. */
    ofUserIn: (accountId: string, user: string, at: number): Statement[] =>
      [endGrantsIn, endKeysIn].map((query) => ({
        ...bind(query, { account: accountId, user, at }),
        rows: maxFound,
      })),
  }
}
