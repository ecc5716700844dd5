/** The account's own row. */
import { type AccountDb, boolean, precondition, query, type Statement, statement } from '../sql.ts'

const rename = statement(`UPDATE accounts SET name = :name WHERE id = :account`)
const requireSecondFactor = statement(`UPDATE accounts SET requires_second_factor = :isRequired WHERE id = :account`)
const showContents = statement(`UPDATE accounts SET people_see_contents = :isVisible WHERE id = :account`)
const contents = query<{ isVisible: boolean }>(
  `SELECT people_see_contents AS is_visible FROM accounts WHERE id = :account`,
  { isVisible: boolean },
)
const accountName = query<{ name: string }>(`SELECT name FROM accounts WHERE id = :account`)
const claimed = query<{ n: number }>(`SELECT 1 AS n FROM accounts WHERE id = :account AND state = 'claimed'`)
const setPeopleRead = statement(`UPDATE accounts SET people_read_since = :since WHERE id = :account`)
const peopleRead = query<{ since: number | null }>(`
  SELECT people_read_since AS since FROM accounts WHERE id = :account`)
const requirePeopleReadSince = precondition(
  `EXISTS (SELECT 1 FROM accounts WHERE id = :account AND people_read_since IS :since)`,
)

export const profile = {
  reads: (account: AccountDb) => ({
    isClaimed: async () => (await account.one(claimed)) !== undefined,
    accountName: async () => (await account.one(accountName))!.name,
    showsContents: async () => (await account.one(contents))?.isVisible ?? false,
    /** Since when owners and admins can read agents' messages: 0 for all of them, null if they cannot. */
    peopleReadSince: async () => (await account.one(peopleRead))?.since ?? null,
  }),
  changes: (account: AccountDb) => ({
    rename: (name: string): Statement => account.bind(rename, { name }),
    requireSecondFactor: (isRequired: boolean): Statement => account.bind(requireSecondFactor, { isRequired }),
    requirePeopleReadSince: (since: number | null): Statement => account.bind(requirePeopleReadSince, { since }),
    setPeopleRead: (since: number | null): Statement => account.bind(setPeopleRead, { since }),
    showContents: (isVisible: boolean): Statement => account.bind(showContents, { isVisible }),
  }),
}

/** A record of the account. `name` is an alias, a channel without `#`, or an email address. */
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
// Only users who are members are found. Ids of other users in a call's arguments stay unresolved.
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
    /** Finds records by id, and agents and channels, including deleted ones, by alias or name (`words`). */
    async resolve(ids: string[], words: string[]): Promise<NamedEntity[]> {
      if (ids.length + words.length === 0) return []
      return await account.all(byRefs, { ids: JSON.stringify(ids), words: JSON.stringify(words) })
    },
  }),
  changes: () => ({}),
}
