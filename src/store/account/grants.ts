import { givesAccess, joinFetchedKey, joinGrantedAgent } from '../global/oauth-access.ts'
import type { OAuthScope } from '../global/oauth-grants.ts'
import { type AccountDb, precondition, query, statement } from '../sql.ts'

/** How many grants one list shows. */
const maxListed = 200

interface ListedGrant {
  id: string
  clientId: string
  clientName: string
  scope: OAuthScope
  alias: string | null
  userId: string
  email: string
  createdAt: number
  lastUsedAt: number | null
  keyLast4: string | null
  keyLastUsedAt: number | null
}

const listOf = (condition = '') =>
  query<ListedGrant>(`
  SELECT oauth_grants.id, oauth_grants.client_id, oauth_grants.client_name, oauth_grants.scope, agents.alias,
    oauth_grants.user_id, users.email, oauth_grants.created_at, oauth_grants.last_used_at,
    credentials.last4 AS key_last4, credentials.last_used_at AS key_last_used_at
  FROM oauth_grants
  JOIN users ON users.id = oauth_grants.user_id
  ${joinGrantedAgent()}
  ${joinFetchedKey}
  WHERE oauth_grants.account_id = :account AND ${givesAccess} ${condition}
  ORDER BY oauth_grants.created_at DESC LIMIT ${maxListed}`)
const list = listOf()
const listOfAgent = listOf(`AND oauth_grants.agent_id = :agent`)
const isLive = `account_id = :account AND id = :id AND revoked_at IS NULL`
const oneLive = query<{ clientName: string }>(`SELECT client_name FROM oauth_grants WHERE ${isLive}`)
const requireLive = precondition(`EXISTS (SELECT 1 FROM oauth_grants WHERE ${isLive})`)
const revoke = statement(`UPDATE oauth_grants SET revoked_at = :at WHERE ${isLive}`)
const revokeOfUser = statement(`
  UPDATE oauth_grants SET revoked_at = :at
  WHERE account_id = :account AND user_id = :user AND revoked_at IS NULL
    AND scope NOT IN (SELECT value FROM json_each(:kept))`)
const markUsed = statement(`UPDATE oauth_grants SET last_used_at = :at WHERE account_id = :account AND id = :id`)

export const grants = {
  reads: (account: AccountDb) => ({
    /**
     * Grants of the account that give access at `at`, by a token or by a fetched key, newest first. `alias` is null for
     * a grant to administer it, `keyLast4` if no key was fetched.
     */
    list: (at: number) => account.all(list, { at }),
    /** Those among them that let their client act as the agent. */
    ofAgent: (agent: string, at: number) => account.all(listOfAgent, { agent, at }),
    /** The grant, unless it was revoked. */
    live: (id: string) => account.one(oneLive, { id }),
  }),
  changes: (account: AccountDb) => ({
    /** Fails the unit unless the grant is live when it runs. */
    requireLive: (id: string) => account.bind(requireLive, { id }),
    /** Revoke a grant. Its tokens and the key that was fetched with it end with it. */
    revoke: (id: string, at: number) => account.bind(revoke, { id, at }),
    /** Revoke the grants of a user, except those of the scopes `kept`. */
    revokeOfUser: (user: string, kept: readonly OAuthScope[], at: number) =>
      account.bind(revokeOfUser, { user, kept: JSON.stringify(kept), at }),
    markUsed: (id: string, at: number) => ({ ...account.bind(markUsed, { id, at }), isTraffic: true }),
  }),
}
