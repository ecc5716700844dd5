import { matchesSearchText } from '../account/search.ts'
import { crossAccountQuery, type Db, query } from '../sql.ts'
import { roleHas } from './oauth-access.ts'

interface AdministeredAccount {
  accountId: string
  accountName: string
  ownerEmail: string | null
}

interface UsableAgent {
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

/** The accounts and agents that a user can choose from on a consent page. See docs/protocol.md, "Account picker". */
export const picker = (db: Db) => ({
  /** The accounts where the user is owner or admin, by name. */
  administered: (user: string, limit: number) => db.all(administered, { user, limit }),
  /** Whether the user is owner or admin of an account. */
  administers: async (account: string, user: string) => (await db.one(administers, { account, user })) !== undefined,
  /** Agents of the user's accounts by alias; `search` is part of an alias, a description or an account name, or empty. */
  agents: (user: string, search: string, limit: number) => db.all(agents, { user, search, limit }),
})
