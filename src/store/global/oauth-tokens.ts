import type { Row } from '@libsql/client'
import { isOnTrial } from '../account/agent-columns.ts'
import { crossAccountQuery, crossAccountStatement, type Db, type Query, type Statement, statement } from '../sql.ts'
import {
  belongsToLiveGrant,
  joinGrantedAgent,
  joinGrantedLiveAgent,
  joinGrantMembership,
  roleAllowsGrant,
} from './oauth-access.ts'
import type { OAuthScope } from './oauth-grants.ts'

/** A live access token and its grant. `id` is the grant's id, which is the credential in the activity log. */
export interface AccessToken {
  accountId: string
  id: string
  userId: string
  grantedAgentId: string | null
  agentId: string | null
  alias: string | null
  onTrial: number
  lastUsedAt: number | null
}

/** A token and its grant. `agentId` and `alias` are null for the account's admin. */
export interface TokenOfGrant {
  accountId: string
  id: string
  kind: 'access' | 'refresh'
  grantId: string
  clientId: string
  clientName: string
  userId: string
  agentId: string | null
  alias: string | null
  scope: OAuthScope
  resource: string
  grantExpiresAt: number
  revokedAt: number | null
  expiresAt: number
  usedAt: number | null
}

export interface NewOAuthToken {
  id: string
  kind: 'access' | 'refresh'
  hash: string
  expiresAt: number
}

/** A refresh token or code, as presented by its client. `refreshId` is the id of the new refresh token. */
interface RefreshExchange {
  accountId: string
  hash: string
  refreshId: string
}

const joinGrant = `JOIN oauth_grants
    ON oauth_grants.account_id = oauth_tokens.account_id AND oauth_grants.id = oauth_tokens.grant_id`
const byAccessHash = crossAccountQuery<AccessToken>(
  'access token by hash',
  `
  SELECT oauth_tokens.account_id, oauth_grants.id, oauth_grants.user_id, oauth_grants.agent_id AS granted_agent_id,
    agents.id AS agent_id, agents.alias, ${isOnTrial} AS on_trial, oauth_grants.last_used_at
  FROM oauth_tokens
  ${joinGrant}
  ${joinGrantMembership()}
  ${joinGrantedLiveAgent()}
  WHERE oauth_tokens.hash = :hash AND oauth_tokens.kind = 'access' AND oauth_tokens.expires_at > :at
    AND oauth_tokens.revoked_at IS NULL AND oauth_grants.revoked_at IS NULL AND ${roleAllowsGrant()}`,
)
const byHash = crossAccountQuery<TokenOfGrant>(
  'OAuth token by hash',
  `
  SELECT oauth_tokens.account_id, oauth_tokens.id, oauth_tokens.kind, oauth_tokens.grant_id,
    oauth_grants.client_id, oauth_grants.client_name, oauth_grants.user_id, oauth_grants.agent_id, agents.alias,
    oauth_grants.scope, oauth_grants.resource, oauth_grants.expires_at AS grant_expires_at, oauth_grants.revoked_at,
    oauth_tokens.expires_at, oauth_tokens.used_at
  FROM oauth_tokens
  ${joinGrant}
  ${joinGrantedAgent()}
  WHERE oauth_tokens.hash = :hash`,
)

const rotate = statement(`
  UPDATE oauth_tokens SET used_at = coalesce(used_at, :at), successor_id = :refreshId
  WHERE account_id = :account AND hash = :hash AND kind = 'refresh' AND expires_at > :at
    AND (used_at IS NULL
      OR (used_at > :graceSince AND (
        SELECT count(*) = 1 OR (count(*) <= :maxRepeats AND max(child.created_at) <= :repeatedSince)
        FROM oauth_tokens AS child
        WHERE child.account_id = oauth_tokens.account_id AND child.parent_id = oauth_tokens.id
          AND child.kind = 'refresh'))
      OR successor_id = :refreshId)
    AND ${belongsToLiveGrant({ accountId: 'oauth_tokens.account_id', grantId: 'oauth_tokens.grant_id' })}
  RETURNING id`)
const addForCode = statement(`
  INSERT INTO oauth_tokens (account_id, id, grant_id, kind, hash, created_at, expires_at)
  SELECT account_id, :id, id, :kind, :newHash, :at, :expiresAt FROM oauth_grants
  WHERE account_id = :account AND code_hash = :hash AND code_taken_by = :refreshId
  ON CONFLICT DO NOTHING`)
const addForRefresh = statement(`
  INSERT INTO oauth_tokens (account_id, id, grant_id, kind, hash, parent_id, created_at, expires_at)
  SELECT account_id, :id, grant_id, :kind, :newHash, id, :at, :expiresAt FROM oauth_tokens
  WHERE account_id = :account AND hash = :hash AND successor_id = :refreshId
  ON CONFLICT DO NOTHING`)
const revoke = statement(`
  UPDATE oauth_tokens SET revoked_at = :at WHERE account_id = :account AND hash = :hash AND revoked_at IS NULL`)
const removeExpired = crossAccountStatement(
  'expired OAuth tokens',
  `
  DELETE FROM oauth_tokens
  WHERE rowid IN (SELECT rowid FROM oauth_tokens WHERE expires_at <= :at LIMIT :limit)
  RETURNING id`,
)

export const tokens = (db: Db) => ({
  /** The access token with this SHA-256, if it and its grant are live. */
  byAccessHash: (hash: string, at: number) => db.one(byAccessHash, { hash, at }),
  byHash: (hash: string) => db.one(byHash, { hash }),
  /**
   * Consumes a refresh token. Returns a row for its first use, and for `maxRepeats` more uses if the first was after
   * `graceSince`. From the second of these on, the last pair of tokens must have been issued by `repeatedSince`.
   */
  rotate: (
    { accountId, ...token }: RefreshExchange,
    limits: { graceSince: number; maxRepeats: number; repeatedSince: number },
    at: number,
  ): Statement => db.bind(rotate, { ...token, ...limits, account: accountId, at }),
  /** Does nothing unless an earlier statement of the unit exchanged the code for this refresh token. */
  addForCode: (exchange: RefreshExchange, token: NewOAuthToken, at: number): Statement =>
    boundToken(db, addForCode, exchange, token, at),
  /** Does nothing unless an earlier statement of the unit rotated the refresh token to this one. */
  addForRefresh: (exchange: RefreshExchange, token: NewOAuthToken, at: number): Statement =>
    boundToken(db, addForRefresh, exchange, token, at),
  revoke: (accountId: string, hash: string, at: number): Statement => db.bind(revoke, { account: accountId, hash, at }),
  removeExpired: (at: number, limit: number): Statement => ({ ...db.bind(removeExpired, { at, limit }), rows: limit }),
})

function boundToken(
  db: Db,
  query: Query<Row>,
  { accountId, hash, refreshId }: RefreshExchange,
  { hash: newHash, ...token }: NewOAuthToken,
  at: number,
): Statement {
  return db.bind(query, { ...token, newHash, hash, refreshId, account: accountId, at })
}
