import { and, eq, gt, isNull, lte, notInArray, or, sql } from 'drizzle-orm'
import { oauthRequests } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** How many consent requests one user may have open. The oldest are deleted. */
const maxOpen = 20

/** The request behind a consent page. Hashes are SHA-256; `choices` is JSON. */
export interface NewConsentRequest {
  handleHash: string
  cookieHash: string
  sessionId: string
  userId: string
  clientId: string
  clientName: string
  redirectUri: string
  state: string | null
  codeChallenge: string
  resource: string
  choices: string
  expiresAt: number
}

/** What a decision must come with: the handle in the form, the cookie of the page, and the session of both. */
export interface ConsentProof {
  handleHash: string
  cookieHash: string
  sessionId: string
  userId: string
}

export function prepareOAuthRequests(db: Db) {
  const open = and(
    eq(oauthRequests.handleHash, p('handleHash')),
    eq(oauthRequests.cookieHash, p('cookieHash')),
    eq(oauthRequests.sessionId, p('sessionId')),
    eq(oauthRequests.userId, p('userId')),
    gt(oauthRequests.expiresAt, p('at')),
  )
  const byProof = db.select({
    clientId: oauthRequests.clientId,
    clientName: oauthRequests.clientName,
    redirectUri: oauthRequests.redirectUri,
    state: oauthRequests.state,
    codeChallenge: oauthRequests.codeChallenge,
    resource: oauthRequests.resource,
    choices: oauthRequests.choices,
  }).from(oauthRequests).where(and(open, isNull(oauthRequests.usedAt))).prepare()
  const add = db.insert(oauthRequests).values({
    handleHash: p('handleHash'),
    cookieHash: p('cookieHash'),
    sessionId: p('sessionId'),
    userId: p('userId'),
    clientId: p('clientId'),
    clientName: p('clientName'),
    redirectUri: p('redirectUri'),
    state: p('state'),
    codeChallenge: p('codeChallenge'),
    resource: p('resource'),
    choices: p('choices'),
    expiresAt: p('expiresAt'),
  }).onConflictDoNothing().toSQL()
  const newest = db.select({ handleHash: oauthRequests.handleHash }).from(oauthRequests)
    .where(eq(oauthRequests.userId, p('userId'))).orderBy(sql`${oauthRequests.expiresAt} DESC`).limit(maxOpen)
  const trim = db.delete(oauthRequests)
    .where(and(eq(oauthRequests.userId, p('userId')), notInArray(oauthRequests.handleHash, newest))).toSQL()
  const removeOfUser = db.delete(oauthRequests).where(eq(oauthRequests.userId, p('userId'))).toSQL()
  const complete = db.update(oauthRequests).set({ usedAt: sql`${p('at')}`, grantId: sql`${p('grantId')}` })
    .where(and(open, or(isNull(oauthRequests.usedAt), eq(oauthRequests.grantId, p('grantId')))))
    .returning({ handleHash: oauthRequests.handleHash }).toSQL()
  const expired = db.select({ handleHash: oauthRequests.handleHash }).from(oauthRequests)
    .where(lte(oauthRequests.expiresAt, p('at'))).limit(p('limit'))
  const removeExpired = db.delete(oauthRequests).where(sql`${oauthRequests.handleHash} IN ${expired}`)
    .returning({ handleHash: oauthRequests.handleHash }).toSQL()

  return {
    /** An open request. */
    byProof: async (proof: ConsentProof, at: number) => (await runQuery(byProof, { ...proof, at }))[0],
    add: (
      request: NewConsentRequest,
    ): Statement[] => [bind(add, { ...request }), bind(trim, { userId: request.userId })],
    /**
     * Decide a request, once. No row if it is decided already, has expired or belongs to another session.
     * `grantId` is null after a refusal.
     */
    complete: (proof: ConsentProof, grantId: string | null, at: number): Statement =>
      bind(complete, { ...proof, grantId, at }),
    /** Delete the requests of a user. */
    removeOfUser: (userId: string): Statement => ({ ...bind(removeOfUser, { userId }), rows: maxOpen }),
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}
