import { and, eq, gt, isNull, lte, notInArray, or, sql } from 'drizzle-orm'
import { oauthRequests } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { ask, bind, p, type Statement } from '../driver/binding.ts'

/** One person has no more consent pages open than this: the oldest end. */
const maxOpen = 20

/** A consent page that was shown. Hashes are SHA-256; `choices` is JSON. */
export interface NewRequest {
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

/** What an answer must come with: the form's handle, the page's cookie, and the session of both. */
export interface RequestProof {
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
  const take = db.update(oauthRequests).set({ usedAt: sql`${p('at')}`, grantId: sql`${p('grantId')}` })
    .where(and(open, or(isNull(oauthRequests.usedAt), eq(oauthRequests.grantId, p('grantId')))))
    .returning({ handleHash: oauthRequests.handleHash }).toSQL()
  const expired = db.select({ handleHash: oauthRequests.handleHash }).from(oauthRequests)
    .where(lte(oauthRequests.expiresAt, p('at'))).limit(p('limit'))
  const removeExpired = db.delete(oauthRequests).where(sql`${oauthRequests.handleHash} IN ${expired}`)
    .returning({ handleHash: oauthRequests.handleHash }).toSQL()

  return {
    /** The request behind a page that still waits for its answer. */
    byProof: async (proof: RequestProof, at: number) => (await ask(byProof, { ...proof, at }))[0],
    add: (request: NewRequest): Statement[] => [bind(add, { ...request }), bind(trim, { userId: request.userId })],
    /**
     * Answer a request, once: a row comes back, or it was answered already, is too old or another's.
     * `grantId` names what came of it; null after a refusal.
     */
    take: (proof: RequestProof, grantId: string | null, at: number): Statement => bind(take, { ...proof, grantId, at }),
    /** The pages of a person that wait for an answer get none. */
    removeOfUser: (userId: string): Statement => ({ ...bind(removeOfUser, { userId }), rows: maxOpen }),
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}
