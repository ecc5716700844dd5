/** What people let OAuth clients do: seeing it, and ending it. mcp.md, section 8.4; spec "Authentication" 4. */
import { requireAdmin } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import type { AccountStore } from '../store/account.ts'
import type { Store } from '../store/store.ts'
import { againOnConflict } from './conflict.ts'

/** A grant as people see it. Times are milliseconds since the epoch. */
export interface ListedGrant {
  id: string
  clientName: string
  /** The host of the client's document; null when it registered itself. */
  clientDomain: string | null
  /** `@admin`, or the agent with `@`. */
  entry: string
  createdAt: number
  lastUsedAt: number | null
}

/** A grant with its account, in the list of a person. */
export interface OwnGrant extends ListedGrant {
  accountName: string
}

/** A grant with its person, in the list of an account. */
export interface AccountGrant extends ListedGrant {
  email: string
}

/** The live grants that a person gave, in all accounts, newest first. */
export async function listOwnGrants({ global, deps }: Store, userId: string): Promise<OwnGrant[]> {
  const found = await global.oauth.grants.ofUser(userId, deps.now())
  return found.map((grant) => ({ ...asListed(grant), accountName: grant.accountName }))
}

/**
 * End a grant of one's own: its tokens are dead on their next use, and so is a key that was fetched with one. Fails with
 * `credential_not_found`.
 */
export async function revokeOwnGrant({ global, write, deps }: Store, userId: string, id: string): Promise<void> {
  const found = await global.oauth.grants.ofUserById(userId, id)
  if (!found) throw notFound(id)
  await write(global.oauth.grants.end(found.accountId, id, deps.now()))
}

/** The live grants of an account, of every person, newest first. Fails with `wrong_credential`. */
export async function listGrants(account: AccountStore): Promise<AccountGrant[]> {
  requireAdmin(account.actor)
  const found = await account.read.grants.list(account.deps.now())
  return found.map((grant) => ({ ...asListed(grant), email: grant.email }))
}

/** End a grant of the account, whoever gave it. Fails with `wrong_credential` or `credential_not_found`. */
export async function revokeGrant(account: AccountStore, id: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  return await againOnConflict(async () => {
    if (!(await account.read.grants.isLive(id))) throw notFound(id)
    const { grants } = account.change
    await account.write([grants.requireLive(id), ...grants.revoke(id, account.deps.now())])
    return { id }
  })
}

interface GrantRow {
  id: string
  clientId: string
  clientName: string
  alias: string | null
  createdAt: number
  lastUsedAt: number | null
}

function asListed({ id, clientId, clientName, alias, createdAt, lastUsedAt }: GrantRow): ListedGrant {
  return {
    id,
    clientName,
    clientDomain: clientId.startsWith('https://') ? new URL(clientId).host : null,
    entry: alias === null ? '@admin' : `@${alias}`,
    createdAt,
    lastUsedAt,
  }
}

function notFound(id: string): GridError {
  return new GridError('credential_not_found', `No live grant has the id ${id}.`)
}
