import {
  fetchingGrant,
  givesAccess,
  joinFetchedKey,
  joinGrantedAgent,
  roleHas,
  whileGrantLives,
} from '../global/oauth-access.ts'
import type { OAuthScope } from '../global/oauth-grants.ts'
import { type AccountDb, precondition, query, statement, traffic } from '../sql.ts'

const maxListed = 200

/** A new agent or admin key. `hash` is the SHA-256 of the secret. */
export interface NewKey {
  id: string
  kind: 'agent_key' | 'admin_key'
  agentId: string | null
  userId: string | null
  grantId?: string
  issuedBy?: string | null
  name: string
  hash: string
  last4: string
}

interface AdminKey {
  id: string
  name: string
  last4: string
  userId: string | null
  createdAt: number
  lastUsedAt: number | null
}

interface AgentKey {
  id: string
  name: string
  last4: string
  client: string | null
  person: string | null
  createdAt: number
  lastUsedAt: number | null
}

interface KeyOfFormerMember {
  alias: string
  person: string | null
  last4: string
  lastUsedAt: number | null
}

type KeyName = Pick<AgentKey, 'id' | 'name' | 'last4'>

const add = statement(`
  INSERT INTO credentials
    (account_id, id, kind, agent_id, user_id, grant_id, issued_by, name, hash, last4, created_at)
  VALUES (:account, :id, :kind, :agentId, :userId, :grantId, :issuedBy, :name, :hash, :last4, :at)
  ON CONFLICT DO NOTHING`)
const adminKeys = query<AdminKey>(`
  SELECT id, name, last4, user_id, created_at, last_used_at FROM credentials
  WHERE account_id = :account AND kind = 'admin_key' AND revoked_at IS NULL
  ORDER BY created_at DESC, id DESC`)
const allAdminKeys = query<KeyName>(`
  SELECT id, name, last4 FROM credentials WHERE account_id = :account AND kind = 'admin_key'
  ORDER BY created_at DESC LIMIT 200`)
const isLiveAdminKey = `account_id = :account AND id = :id AND kind = 'admin_key' AND revoked_at IS NULL`
const adminKey = query(`SELECT id FROM credentials WHERE ${isLiveAdminKey}`)
const requireLiveAdminKey = precondition(`EXISTS (SELECT 1 FROM credentials WHERE ${isLiveAdminKey})`)
const revokeAdminKey = statement(`UPDATE credentials SET revoked_at = :at WHERE ${isLiveAdminKey}`)
const revokeAdminKeysOfUser = statement(`
  UPDATE credentials SET revoked_at = :at
  WHERE account_id = :account AND user_id = :user AND kind = 'admin_key' AND revoked_at IS NULL`)

const isLiveOfAgent = `credentials.account_id = :account AND credentials.agent_id = :agent
    AND credentials.kind = 'agent_key' AND credentials.revoked_at IS NULL`
const nameOrEmail = `coalesce(nullif(users.name, ''), users.email) AS person`
const ofAgent = query<AgentKey>(`
  SELECT credentials.id, credentials.name, credentials.last4, oauth_grants.client_name AS client, ${nameOrEmail},
    credentials.created_at, credentials.last_used_at
  FROM credentials
  LEFT JOIN users ON users.id = coalesce(credentials.issued_by, credentials.user_id)
  LEFT JOIN oauth_grants ON ${fetchingGrant}
  WHERE ${isLiveOfAgent} AND ${whileGrantLives}
  ORDER BY credentials.created_at DESC, credentials.id DESC`)
const oneOfAgent = query<KeyName>(`
  SELECT id, name, last4 FROM credentials WHERE id = :id AND ${isLiveOfAgent}`)
const requireLiveOfAgent = precondition(`EXISTS (SELECT 1 FROM credentials WHERE id = :id AND ${isLiveOfAgent})`)
const requireAtMostOfAgent = precondition(
  `(SELECT count(*) FROM credentials WHERE ${isLiveOfAgent} AND ${whileGrantLives}) <= :max`,
)
const revokeOneOfAgent = statement(`UPDATE credentials SET revoked_at = :at WHERE id = :id AND ${isLiveOfAgent}`)
const revokeOfAgent = statement(`
  UPDATE credentials SET revoked_at = :at WHERE account_id = :account AND agent_id = :agent AND revoked_at IS NULL`)
const revokeOthersOfAgent = statement(`
  UPDATE credentials SET revoked_at = :at
  WHERE account_id = :account AND agent_id = :agent AND id <> :id AND revoked_at IS NULL`)
const revokeOfClient = statement(`
  UPDATE credentials SET revoked_at = :at
  WHERE account_id = :account AND agent_id = :agent AND name = :name AND id <> :id AND revoked_at IS NULL
    AND EXISTS (
      SELECT 1 FROM oauth_grants AS own
      JOIN oauth_grants AS earlier ON earlier.account_id = own.account_id AND earlier.client_id = own.client_id
        AND earlier.user_id = own.user_id AND earlier.id = credentials.grant_id
      WHERE own.account_id = :account AND own.id = :grant)`)

const isIssued = `credentials.account_id = :account AND credentials.issued_by IS NOT NULL
    AND credentials.revoked_at IS NULL`
const issuers = query<{ userId: string; keys: number }>(`
  SELECT issued_by AS user_id, count(*) AS keys FROM credentials WHERE ${isIssued} GROUP BY issued_by`)
const ofFormerMembers = query<KeyOfFormerMember>(`
  SELECT agents.alias, ${nameOrEmail}, credentials.last4, credentials.last_used_at
  FROM credentials
  JOIN agents ON agents.account_id = credentials.account_id AND agents.id = credentials.agent_id
  JOIN users ON users.id = credentials.issued_by
  WHERE ${isIssued} AND NOT EXISTS (
    SELECT 1 FROM memberships
    WHERE memberships.account_id = :account AND memberships.user_id = credentials.issued_by AND ${roleHas('use')})
  ORDER BY agents.alias LIMIT ${maxListed}`)
const markUsed = traffic(`UPDATE credentials SET last_used_at = :at WHERE account_id = :account AND id = :id`)

export const keys = {
  reads: (account: AccountDb) => ({
    adminKeys: () => account.all(adminKeys),
    allAdminKeys: () => account.all(allAdminKeys),
    /** An agent's live keys, newest first. `client` fetched a key for `person`; null if `person` was shown the key. */
    ofAgent: (agent: string, at: number) => account.all(ofAgent, { agent, at }),
    oneOfAgent: (agent: string, id: string) => account.one(oneOfAgent, { agent, id }),
    issuers: () => account.all(issuers),
    /** Live agent keys that were shown to users who may no longer act as agents, by alias. At most 200. */
    ofFormerMembers: () => account.all(ofFormerMembers),
    isLiveAdminKey: async (id: string) => (await account.one(adminKey, { id })) !== undefined,
  }),
  changes: (account: AccountDb) => ({
    /** Safe to repeat. Fails with a constraint error if the agent is missing. */
    add: ({ grantId, issuedBy, ...key }: NewKey, at: number) =>
      account.bind(add, { ...key, grantId: grantId ?? null, issuedBy: issuedBy ?? null, at }),
    requireLiveAdminKey: (id: string) => account.bind(requireLiveAdminKey, { id }),
    revokeAdminKey: (id: string, at: number) => account.bind(revokeAdminKey, { id, at }),
    revokeOfAgent: (agent: string, at: number) => account.bind(revokeOfAgent, { agent, at }),
    revokeOthersOfAgent: (agent: string, id: string, at: number) =>
      account.bind(revokeOthersOfAgent, { agent, id, at }),
    requireLiveOfAgent: (agent: string, id: string) => account.bind(requireLiveOfAgent, { agent, id }),
    requireAtMostOfAgent: (agent: string, max: number, at: number) =>
      account.bind(requireAtMostOfAgent, { agent, max, at }),
    revokeOneOfAgent: (agent: string, id: string, at: number) => account.bind(revokeOneOfAgent, { agent, id, at }),
    /** Revokes the other keys of this name that a grant's client fetched for the same user. */
    revokeOfClient: (agent: string, grant: string, name: string, id: string, at: number) =>
      account.bind(revokeOfClient, { agent, grant, name, id, at }),
    /** Revokes every admin key that a user created. Fetched agent keys end with their grants. */
    revokeAdminKeysOfUser: (user: string, at: number) => account.bind(revokeAdminKeysOfUser, { user, at }),
    markUsed: (id: string, at: number) => account.bind(markUsed, { id, at }),
  }),
}

const maxListedGrants = 200

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
  ORDER BY oauth_grants.created_at DESC LIMIT ${maxListedGrants}`)
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
const markUsedGrant = traffic(`UPDATE oauth_grants SET last_used_at = :at WHERE account_id = :account AND id = :id`)

export const grants = {
  reads: (account: AccountDb) => ({
    /** Grants that give access at `at`, newest first. `alias` is null for a grant to administer the account. */
    list: (at: number) => account.all(list, { at }),
    ofAgent: (agent: string, at: number) => account.all(listOfAgent, { agent, at }),
    live: (id: string) => account.one(oneLive, { id }),
  }),
  changes: (account: AccountDb) => ({
    requireLive: (id: string) => account.bind(requireLive, { id }),
    /** Revokes a grant with its tokens and the key fetched with it. */
    revoke: (id: string, at: number) => account.bind(revoke, { id, at }),
    revokeOfUser: (user: string, kept: readonly OAuthScope[], at: number) =>
      account.bind(revokeOfUser, { user, kept: JSON.stringify(kept), at }),
    markUsed: (id: string, at: number) => account.bind(markUsedGrant, { id, at }),
  }),
}
