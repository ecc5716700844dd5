import { type Permission, permissions } from '../../auth/actor.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { crossAccountQuery, type Db, type Statement } from '../sql.ts'

/** A live credential and the agent or user behind it. */
export interface Credential {
  accountId: string
  id: string
  kind: 'agent_key' | 'admin_key'
  userId: string | null
  grantId: string | null
  lastUsedAt: number | null
  agentId: string | null
  alias: string | null
  onTrial: number
}

/** Condition: the user behind the key has the permission. A key without a user depends on no role. */
function whileUserMay(permission: Permission): string {
  const roles = permissions[permission].map((role) => `'${role}'`)
  return `(credentials.user_id IS NULL OR memberships.role IN (${roles}))`
}

// A program never acts as a person, whatever rows exist. An agent key is live while its agent is. A key with a user
// behind it also requires that user's role.
const byHash = crossAccountQuery<Credential>(
  'credential by hash',
  `
  SELECT credentials.account_id, credentials.id, credentials.kind, credentials.user_id, credentials.grant_id,
    credentials.last_used_at, agents.id AS agent_id, agents.alias,
    EXISTS (SELECT 1 FROM trials WHERE trials.account_id = agents.account_id AND trials.agent_id = agents.id) AS on_trial
  FROM credentials
  LEFT JOIN agents ON agents.account_id = credentials.account_id AND agents.id = credentials.agent_id
    AND agents.type <> 'human' AND agents.deleted_at IS NULL
  LEFT JOIN memberships ON memberships.account_id = credentials.account_id AND memberships.user_id = credentials.user_id
  WHERE credentials.hash = :hash AND credentials.revoked_at IS NULL
    AND (credentials.grant_id IS NULL OR EXISTS (
      SELECT 1 FROM oauth_grants
      WHERE oauth_grants.account_id = credentials.account_id AND oauth_grants.id = credentials.grant_id
        AND oauth_grants.revoked_at IS NULL AND oauth_grants.expires_at > :at))
    AND (credentials.kind = 'agent_key' AND agents.id IS NOT NULL AND ${whileUserMay('use')}
      OR credentials.kind = 'admin_key' AND ${whileUserMay('manage')} AND NOT EXISTS (
        SELECT 1 FROM accounts WHERE accounts.id = credentials.account_id AND accounts.deleted_at IS NOT NULL))
  LIMIT 1`,
)

/** Maximum number of cached keys. The cache keeps this many recently used keys, and up to as many others. */
const maxKept = 5_000

/**
 * An in-memory cache of keys, for a local file, which no other process changes. The cache is cleared after each commit
 * with any statement that is not marked as `traffic`, before the commit is acknowledged.
 */
export class KeyCache {
  #kept = new LruMap<string, Credential>(maxKept)

  async find(hash: string, read: () => Promise<Credential | undefined>): Promise<Credential | undefined> {
    const known = this.#kept.get(hash)
    if (known) return known
    // A query that began before a commit may return the old state. By the time it ends, the commit has replaced the
    // map.
    const kept = this.#kept
    const found = await read()
    // A key with a grant is not cached, because a grant expires without a commit that would clear the cache.
    if (found && found.grantId === null) kept.set(hash, found)
    return found
  }

  /** Called after each commit, even if it failed. */
  committed(statements: readonly Statement[]): void {
    if (!statements.every(({ isTraffic }) => isTraffic)) this.#kept = new LruMap(maxKept)
  }
}

/** `keys` is undefined for a remote database. */
export const credentials = (db: Db, keys?: KeyCache) => ({
  /** The live credential with this SHA-256. A cached `lastUsedAt` may be outdated. */
  byHash(hash: string, at: number): Promise<Credential | undefined> {
    const read = () => db.one(byHash, { hash, at })
    return keys ? keys.find(hash, read) : read()
  },
})
