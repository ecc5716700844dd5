/** Joins and conditions for the access that a grant still permits. Every statement checks this access again. */
import { type Permission, permissions } from '../../auth/actor.ts'

/** Condition on a joined membership: its role has the permission. */
export function roleHas(permission: Permission): string {
  return `memberships.role IN (${permissions[permission].map((role) => `'${role}'`).join(', ')})`
}

/** Joins the membership of the user who gave the grant, unless the account is deleted. */
export function joinGrantMembership(grant = 'oauth_grants'): string {
  return `JOIN memberships ON memberships.account_id = ${grant}.account_id AND memberships.user_id = ${grant}.user_id
    AND NOT EXISTS (
      SELECT 1 FROM accounts WHERE accounts.id = ${grant}.account_id AND accounts.deleted_at IS NOT NULL)`
}

/** Joins the grant's agent, deleted or not. For display. */
export function joinGrantedAgent(grant = 'oauth_grants'): string {
  return `LEFT JOIN agents ON agents.account_id = ${grant}.account_id AND agents.id = ${grant}.agent_id`
}

/** Joins the grant's agent, if it is not deleted and has a type that OAuth clients can act as. */
export function joinGrantedLiveAgent(grant = 'oauth_grants'): string {
  return `${joinGrantedAgent(grant)} AND agents.type = 'mcp' AND agents.deleted_at IS NULL`
}

/**
 * Condition on a joined membership and live agent: an admin grant needs `manage`; an agent grant, the agent and `use`.
 */
export function roleAllowsGrant(agentId = 'oauth_grants.agent_id'): string {
  return `((${agentId} IS NULL AND ${roleHas('manage')}) OR (agents.id IS NOT NULL AND ${roleHas('use')}))`
}

/** Condition on a grant's row: at `at` the grant is live, and its user still has the required role. */
export function belongsToLiveGrant(row: { accountId: string; grantId: string }): string {
  // Uses an alias, because the row may be the grant itself.
  return `EXISTS (SELECT 1 FROM oauth_grants AS living
    ${joinGrantMembership('living')}
    ${joinGrantedLiveAgent('living')}
    WHERE living.account_id = ${row.accountId} AND living.id = ${row.grantId}
      AND living.revoked_at IS NULL AND living.expires_at > :at AND ${roleAllowsGrant('living.agent_id')})`
}

/** Condition on an agent key and the grant with which a client fetched it. */
export const fetchingGrant =
  `oauth_grants.account_id = credentials.account_id AND oauth_grants.id = credentials.grant_id`

/** Condition on a key: no client fetched it, or its grant is live at `at`. Most keys have no grant to check. */
export const whileGrantLives = `(credentials.grant_id IS NULL OR EXISTS (
    SELECT 1 FROM oauth_grants
    WHERE ${fetchingGrant} AND oauth_grants.revoked_at IS NULL AND oauth_grants.expires_at > :at))`

/** Joins the newest unrevoked key that the client fetched with the grant. Ids are ordered by time. */
export const joinFetchedKey = `LEFT JOIN credentials
    ON credentials.account_id = oauth_grants.account_id AND credentials.grant_id = oauth_grants.id
      AND credentials.id = (
        SELECT max(newest.id) FROM credentials AS newest
        WHERE newest.account_id = oauth_grants.account_id AND newest.grant_id = oauth_grants.id
          AND newest.revoked_at IS NULL)`

/** Condition on the rows of `joinFetchedKey`: the grant gives its client access at `at`, with a token or a key. */
export const givesAccess = `(oauth_grants.revoked_at IS NULL AND oauth_grants.expires_at > :at
    AND (EXISTS (
        SELECT 1 FROM oauth_tokens
        WHERE oauth_tokens.account_id = oauth_grants.account_id AND oauth_tokens.grant_id = oauth_grants.id
          AND oauth_tokens.revoked_at IS NULL AND oauth_tokens.expires_at > :at)
      OR credentials.id IS NOT NULL))`
