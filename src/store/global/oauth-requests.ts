import { crossAccountQuery, type Db, matchesSearchText, query, type Statement, statement } from '../sql.ts'
import { roleHas } from './oauth-access.ts'

const maxOpen = 20

/** The request that a consent page shows. Hashes are SHA-256; `choices` is JSON. */
interface NewConsentRequest {
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

/** The proofs required for a decision: the form's handle, the page's cookie, and the session to which both belong. */
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
  byProof: (proof: ConsentProof, at: number) => db.one(byProof, { ...proof, at }),
  add: (
    request: NewConsentRequest,
  ): Statement[] => [db.bind(add, { ...request }), db.bind(trim, { userId: request.userId })],
  /** Decides a request once. Returns no row if it is decided or expired. `grantId` is null after a refusal. */
  complete: (proof: ConsentProof, grantId: string | null, at: number): Statement =>
    db.bind(complete, { ...proof, grantId, at }),
  removeOfUser: (userId: string): Statement => ({ ...db.bind(removeOfUser, { userId }), rows: maxOpen }),
  removeExpired: (at: number, limit: number): Statement => ({ ...db.bind(removeExpired, { at, limit }), rows: limit }),
})

export interface AdministeredAccount {
  accountId: string
  accountName: string
  ownerEmail: string | null
}

export interface UsableAgent {
  accountId: string
  agentId: string
  alias: string
  description: string
  accountName: string
}

const administered = crossAccountQuery<AdministeredAccount>(
  'accounts administered by a user',
  `
  SELECT accounts.id AS account_id, accounts.name AS account_name, (
    SELECT min(users.email) FROM users
    JOIN memberships AS owner ON owner.user_id = users.id
    WHERE owner.account_id = accounts.id AND owner.role = 'owner') AS owner_email
  FROM memberships JOIN accounts ON accounts.id = memberships.account_id
  WHERE memberships.user_id = :user AND ${roleHas('manage')}
  ORDER BY accounts.name, accounts.id LIMIT :limit`,
)
const agents = crossAccountQuery<UsableAgent>(
  'agents a user may act as',
  `
  SELECT agents.account_id, agents.id AS agent_id, agents.alias, agents.description, accounts.name AS account_name
  FROM memberships
  JOIN accounts ON accounts.id = memberships.account_id
  JOIN agents ON agents.account_id = memberships.account_id
  WHERE memberships.user_id = :user AND ${roleHas('use')}
    AND agents.type = 'mcp' AND agents.deleted_at IS NULL
    AND ${matchesSearchText(['agents.alias', 'agents.description', 'accounts.name'])}
  ORDER BY agents.alias LIMIT :limit`,
)
const administers = query(`
  SELECT 1 FROM memberships WHERE account_id = :account AND user_id = :user AND ${roleHas('manage')}`)

/** The accounts and agents that a user can choose from on a consent page. */
export const picker = (db: Db) => ({
  administered: (user: string, limit: number) => db.all(administered, { user, limit }),
  administers: async (account: string, user: string) => (await db.one(administers, { account, user })) !== undefined,
  /** Agents of the user's accounts whose alias, description or account name contains `search`, by alias. */
  agents: (user: string, search: string, limit: number) => db.all(agents, { user, search, limit }),
})
