/** Names for ids, so that pages need not show ids. */
import { type AccountDb, boolean, query } from '../sql.ts'

/**
 * A record of the account. `name` is an alias without `@`, a channel without `#`, or the email address of an
 * invitation.
 */
export interface NamedEntity {
  kind: 'agent' | 'channel' | 'skill' | 'guardrail' | 'admin_key' | 'client' | 'invitation' | 'user'
  id: string
  name: string
  isDeleted: boolean
}

const ids = `IN (SELECT value FROM json_each(:ids))`
const words = `IN (SELECT value FROM json_each(:words))`
const selectAgents = `SELECT 'agent' AS kind, id, alias AS name, deleted_at IS NOT NULL AS is_deleted FROM agents`
const selectChannels = `SELECT 'channel', id, name, deleted_at IS NOT NULL FROM channels`
// Of users only members: the id of a foreign user in the arguments of a call is not resolved.
const byRefs = query<NamedEntity>(
  `
  ${selectAgents} WHERE account_id = :account AND id ${ids}
  UNION ALL ${selectAgents} WHERE account_id = :account AND alias ${words}
  UNION ALL ${selectChannels} WHERE account_id = :account AND id ${ids}
  UNION ALL ${selectChannels} WHERE account_id = :account AND name ${words} AND deleted_at IS NULL
  UNION ALL SELECT 'skill', id, name, 0 FROM skills WHERE account_id = :account AND id ${ids}
  UNION ALL SELECT 'guardrail', id, name, 0 FROM guardrails WHERE account_id = :account AND id ${ids}
  UNION ALL SELECT 'admin_key', id, name, 0 FROM credentials
    WHERE account_id = :account AND id ${ids} AND kind = 'admin_key'
  UNION ALL SELECT 'client', id, client_name, 0 FROM oauth_grants WHERE account_id = :account AND id ${ids}
  UNION ALL SELECT 'invitation', id, email, 0 FROM invitations WHERE account_id = :account AND id ${ids}
  UNION ALL SELECT 'user', memberships.user_id, coalesce(nullif(users.name, ''), users.email), 0
    FROM memberships JOIN users ON users.id = memberships.user_id
    WHERE memberships.account_id = :account AND memberships.user_id ${ids}`,
  { isDeleted: boolean },
)

export const names = {
  reads: (account: AccountDb) => ({
    /**
     * Finds records by id, and agents and channels by alias or name (`words`). Includes deleted agents and channels.
     */
    async resolve(ids: string[], words: string[]): Promise<NamedEntity[]> {
      if (ids.length + words.length === 0) return []
      return await account.all(byRefs, { ids: JSON.stringify(ids), words: JSON.stringify(words) })
    },
  }),
  changes: () => ({}),
}
