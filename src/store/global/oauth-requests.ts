import { type Db, query, type Statement, statement } from '../sql.ts'

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

const isOpen = `handle_hash = :handleHash AND cookie_hash = :cookieHash AND session_id = :sessionId
    AND user_id = :userId AND expires_at > :at`
const byProof = query<
  Pick<
    NewConsentRequest,
    'clientId' | 'clientName' | 'redirectUri' | 'state' | 'codeChallenge' | 'resource' | 'choices'
  >
>(`
  SELECT client_id, client_name, redirect_uri, state, code_challenge, resource, choices FROM oauth_requests
  WHERE ${isOpen} AND used_at IS NULL`)
const add = statement(`
  INSERT INTO oauth_requests
    (handle_hash, cookie_hash, session_id, user_id, client_id, client_name, redirect_uri, state, code_challenge,
      resource, choices, expires_at)
  VALUES (:handleHash, :cookieHash, :sessionId, :userId, :clientId, :clientName, :redirectUri, :state, :codeChallenge,
    :resource, :choices, :expiresAt)
  ON CONFLICT DO NOTHING`)
const trim = statement(`
  DELETE FROM oauth_requests
  WHERE user_id = :userId AND handle_hash NOT IN (
    SELECT handle_hash FROM oauth_requests WHERE user_id = :userId ORDER BY expires_at DESC LIMIT ${maxOpen})`)
const removeOfUser = statement(`DELETE FROM oauth_requests WHERE user_id = :userId`)
const complete = statement(`
  UPDATE oauth_requests SET used_at = :at, grant_id = :grantId
  WHERE ${isOpen} AND (used_at IS NULL OR grant_id = :grantId)
  RETURNING handle_hash`)
const removeExpired = statement(`
  DELETE FROM oauth_requests
  WHERE handle_hash IN (SELECT handle_hash FROM oauth_requests WHERE expires_at <= :at LIMIT :limit)
  RETURNING handle_hash`)

export const requests = (db: Db) => ({
  /** An open request. */
  byProof: (proof: ConsentProof, at: number) => db.one(byProof, { ...proof, at }),
  add: (
    request: NewConsentRequest,
  ): Statement[] => [db.bind(add, { ...request }), db.bind(trim, { userId: request.userId })],
  /**
   * Decide a request, once. No row if it is decided already, has expired or belongs to another session.
   * `grantId` is null after a refusal.
   */
  complete: (proof: ConsentProof, grantId: string | null, at: number): Statement =>
    db.bind(complete, { ...proof, grantId, at }),
  /** Delete the requests of a user. */
  removeOfUser: (userId: string): Statement => ({ ...db.bind(removeOfUser, { userId }), rows: maxOpen }),
  removeExpired: (at: number, limit: number): Statement => ({ ...db.bind(removeExpired, { at, limit }), rows: limit }),
})
