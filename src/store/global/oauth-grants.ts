import type { oauthGrants } from '../../../db/schema.ts'
import type { Role } from '../../auth/actor.ts'
import {
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  preconditionText,
  type Statement,
  statement,
} from '../sql.ts'
import {
  belongsToLiveGrant,
  givesAccess,
  joinFetchedKey,
  joinGrantedAgent,
  joinGrantedLiveAgent,
  joinGrantMembership,
  roleAllowsGrant,
} from './oauth-access.ts'

const maxListed = 200

export type OAuthScope = typeof oauthGrants.$inferSelect.scope

/** A user's choices on a consent page. The rest of the grant comes from the consent request. */
interface NewGrant {
  id: string
  accountId: string
  agentId: string | null
  scope: OAuthScope
  codeHash: string
  codeExpiresAt: number
  expiresAt: number
}

/** An authorization code with the values that its client must repeat. `refreshId` is the new refresh token's id. */
interface CodeExchange {
  accountId: string
  codeHash: string
  clientId: string
  redirectUri: string
  codeChallenge: string
  refreshId: string
}

interface GrantOfCode {
  accountId: string
  id: string
  clientId: string
  agentId: string | null
  scope: OAuthScope
  resource: string
  redirectUri: string
  codeChallenge: string
  codeExpiresAt: number
  codeUsedAt: number | null
  expiresAt: number
}

interface GrantOfUser {
  accountId: string
  id: string
  clientId: string
  clientName: string
  scope: OAuthScope
  alias: string | null
  accountName: string
  createdAt: number
  lastUsedAt: number | null
  keyLast4: string | null
  keyLastUsedAt: number | null
}

const add = statement(`
  INSERT INTO oauth_grants
    (account_id, id, user_id, client_id, client_name, agent_id, scope, resource, redirect_uri,
      code_hash, code_challenge, code_expires_at, created_at, expires_at)
  SELECT memberships.account_id, :id, oauth_requests.user_id, oauth_requests.client_id, oauth_requests.client_name,
    :agentId, :scope, oauth_requests.resource, oauth_requests.redirect_uri,
    :codeHash, oauth_requests.code_challenge, :codeExpiresAt, :at, :expiresAt
  FROM oauth_requests
  JOIN memberships ON memberships.account_id = :account AND memberships.user_id = oauth_requests.user_id
  LEFT JOIN agents ON agents.account_id = :account AND agents.id = :agentId
    AND agents.type = 'mcp' AND agents.deleted_at IS NULL
  WHERE oauth_requests.handle_hash = :handleHash AND oauth_requests.grant_id = :id AND ${roleAllowsGrant(':agentId')}
  ON CONFLICT (account_id, id) DO UPDATE SET id = excluded.id
  RETURNING id`)
const byCode = crossAccountQuery<GrantOfCode>(
  'grant by code',
  `
  SELECT account_id, id, client_id, agent_id, scope, resource, redirect_uri, code_challenge, code_expires_at,
    code_used_at, expires_at
  FROM oauth_grants WHERE code_hash = :hash`,
)
const exchangeCode = statement(`
  UPDATE oauth_grants SET code_used_at = :at, code_taken_by = :refreshId
  WHERE account_id = :account AND code_hash = :codeHash AND client_id = :clientId
    AND redirect_uri = :redirectUri AND code_challenge = :codeChallenge AND code_expires_at > :at
    AND (code_used_at IS NULL OR code_taken_by = :refreshId)
    AND ${belongsToLiveGrant({ accountId: 'oauth_grants.account_id', grantId: 'oauth_grants.id' })}
  RETURNING id`)
const revoke = statement(`
  UPDATE oauth_grants SET revoked_at = :at WHERE account_id = :account AND id = :id AND revoked_at IS NULL
  RETURNING id`)

const ofUser = crossAccountQuery<GrantOfUser>(
  'grants of a user',
  `
  SELECT oauth_grants.account_id, oauth_grants.id, oauth_grants.client_id, oauth_grants.client_name,
    oauth_grants.scope, agents.alias, accounts.name AS account_name, oauth_grants.created_at,
    oauth_grants.last_used_at, credentials.last4 AS key_last4, credentials.last_used_at AS key_last_used_at
  FROM oauth_grants
  JOIN accounts ON accounts.id = oauth_grants.account_id
  ${joinGrantMembership()}
  ${joinGrantedLiveAgent()}
  ${joinFetchedKey}
  WHERE oauth_grants.user_id = :user AND ${givesAccess} AND ${roleAllowsGrant()}
  ORDER BY oauth_grants.created_at DESC LIMIT ${maxListed}`,
)
const ofUserById = crossAccountQuery<
  Pick<GrantOfUser, 'accountId' | 'id' | 'clientId' | 'clientName' | 'alias'> & { role: Role }
>(
  'grant of a user by id',
  `
  SELECT oauth_grants.account_id, oauth_grants.id, oauth_grants.client_id, oauth_grants.client_name, agents.alias,
    memberships.role
  FROM oauth_grants
  ${joinGrantMembership()}
  ${joinGrantedAgent()}
  WHERE oauth_grants.user_id = :user AND oauth_grants.id = :id AND oauth_grants.revoked_at IS NULL`,
)
const approved = crossAccountQuery(
  'grant of a user to a client',
  `
  SELECT 1 FROM oauth_grants
  WHERE user_id = :user AND client_id = :client AND revoked_at IS NULL AND expires_at > :at
  LIMIT 1`,
)

const isEnded = `(oauth_grants.expires_at <= :at
    OR (oauth_grants.revoked_at IS NOT NULL AND oauth_grants.revoked_at <= :at)
    OR (oauth_grants.code_used_at IS NULL AND oauth_grants.code_expires_at <= :at))`
const removeTokensOfEnded = crossAccountStatement(
  'tokens of ended grants',
  `
  DELETE FROM oauth_tokens WHERE rowid IN (
    SELECT oauth_tokens.rowid FROM oauth_tokens
    JOIN oauth_grants ON oauth_grants.account_id = oauth_tokens.account_id AND oauth_grants.id = oauth_tokens.grant_id
    WHERE ${isEnded} LIMIT :limit)
  RETURNING id`,
)
const removeEnded = crossAccountStatement(
  'ended grants',
  `
  DELETE FROM oauth_grants WHERE rowid IN (
    SELECT oauth_grants.rowid FROM oauth_grants
    LEFT JOIN oauth_tokens
      ON oauth_tokens.account_id = oauth_grants.account_id AND oauth_tokens.grant_id = oauth_grants.id
    WHERE ${isEnded} AND oauth_tokens.id IS NULL LIMIT :limit)
  RETURNING id`,
)

export const grants = (db: Db) => ({
  /** Returns no row if the request was not completed with this grant, or the user may no longer make this choice. */
  add: ({ accountId, ...grant }: NewGrant, handleHash: string, at: number): Statement =>
    db.bind(add, { ...grant, account: accountId, handleHash, at }),
  byCode: (hash: string) => db.one(byCode, { hash }),
  /** Consumes the code. Returns a row only if everything matches and the grant is live. */
  exchangeCode: ({ accountId, ...code }: CodeExchange, at: number): Statement =>
    db.bind(exchangeCode, { ...code, account: accountId, at }),
  /** Revokes a grant with its tokens and the fetched key. Returns no row if it was already revoked. */
  revoke: (accountId: string, id: string, at: number): Statement => db.bind(revoke, { account: accountId, id, at }),
  /** A user's grants that give access at `at`, newest first. `alias` and `keyLast4` are as in an account's list. */
  ofUser: (user: string, at: number) => db.all(ofUser, { user, at }),
  /** A grant that is not revoked, if its user still belongs to its account. */
  ofUserById: (user: string, id: string) => db.one(ofUserById, { user, id }),
  /** Whether the user has given the client a grant, in any account, that is neither revoked nor expired. */
  hasApproved: async (user: string, client: string, at: number) =>
    (await db.one(approved, { user, client, at })) !== undefined,
  /** Removes tokens first, because a grant is deleted only when it has no tokens left. */
  removeEnded: (at: number, limit: number): Statement[] =>
    [removeTokensOfEnded, removeEnded].map((query) => ({ ...db.bind(query, { at, limit }), rows: limit })),
})

/** Maximum number of rows that `find` returns. A unit that revokes all grants counts as this many rows. */
const maxFound = 200

/** A grant that gives its client access, or that can still be exchanged. */
export interface RevocableAccess {
  accountId: string
  id: string
  clientId: string
  clientName: string
  alias: string | null
}

const isLiveOfUser = `oauth_grants.user_id = :user AND oauth_grants.revoked_at IS NULL`
const revocable = `SELECT oauth_grants.account_id, oauth_grants.id, oauth_grants.client_id, oauth_grants.client_name,
    agents.alias
  FROM oauth_grants
  ${joinGrantedAgent()}
  ${joinFetchedKey}
  WHERE ${isLiveOfUser}
    AND (${givesAccess} OR (oauth_grants.code_used_at IS NULL AND oauth_grants.code_expires_at > :at))
  ORDER BY oauth_grants.account_id, oauth_grants.id LIMIT ${maxFound}`
const find = crossAccountQuery<RevocableAccess>('revocable access of a user', revocable)
const requireUnchanged = crossAccountStatement(
  'revocable access of a user, unchanged',
  preconditionText(`(SELECT json_group_array(id) FROM (${revocable})) = :ids`),
)
const revokeGrants = crossAccountStatement(
  'revocation of the grants of a user',
  `UPDATE oauth_grants SET revoked_at = :at WHERE ${isLiveOfUser}`,
)
const revokeGrantsIn = statement(`
  UPDATE oauth_grants SET revoked_at = :at WHERE account_id = :account AND ${isLiveOfUser}`)

export const revocations = (db: Db) => ({
  /** The user's grants that currently give clients access, ordered by account; at most `maxFound`. */
  find: (user: string, at: number) => db.all(find, { user, at }),
  maxFound,
  requireUnchanged: (user: string, ids: string[], at: number): Statement =>
    db.bind(requireUnchanged, { user, ids: JSON.stringify(ids), at }),
  /** Revokes every grant of a user in all accounts, including grants with an unused code. */
  revokeAll: (user: string, at: number): Statement => ({ ...db.bind(revokeGrants, { user, at }), rows: maxFound }),
  /** Revokes every grant of a user in one account, including grants with an unused code. */
  revokeInAccount: (accountId: string, user: string, at: number): Statement => ({
    ...db.bind(revokeGrantsIn, { account: accountId, user, at }),
    rows: maxFound,
  }),
})
