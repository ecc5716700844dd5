/** What people let OAuth clients do: seeing it, and ending it. mcp.md, section 8.4; spec "Authentication" 4. */
import { type Actor, requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/driver/binding.ts'
import type { Store } from '../../store/store.ts'
import { recorded } from '../activity.ts'
import { againOnConflict } from '../retry-on-conflict.ts'

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

/** A signed-in person. */
export interface Granter {
  user: { id: string }
  sessionId: string
}

/**
 * End a grant of one's own: its tokens are dead on their next use, and so is a key that was fetched with one. The log
 * of its account says so. Fails with `credential_not_found`.
 */
export async function revokeOwnGrant(
  store: Store,
  { user, sessionId }: Granter,
  id: string,
  requestId: string | null,
): Promise<void> {
  const grant = await store.global.oauth.grants.ofUserById(user.id, id)
  if (!grant) throw notFound(id)
  const account = store.account(grant.accountId, { type: 'user', userId: user.id, role: grant.role, sessionId })
  const call = { tool: 'revoke_own_grant', arguments: grantInWords(grant), requestId }
  await recorded(
    account,
    call,
    (recording) => endLive(recording, id, recording.change.grants.revoke(id, store.deps.now())),
  )
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
  await endLive(account, id, account.change.grants.revoke(id, account.deps.now()))
  return { id }
}

/** A grant as one of its tokens names it. `agentId` and `alias` are null for the account's admin. */
export interface TokenGrant {
  accountId: string
  grantId: string
  clientId: string
  clientName: string
  userId: string
  agentId: string | null
  alias: string | null
}

/**
 * End a grant for its client, which gives its refresh token back; a key that was fetched with it goes on. The log says
 * that the grant did it. Fails with `credential_not_found` when it has ended. @see RFC 7009 §2.1
 */
export async function returnGrant(store: Store, grant: TokenGrant, requestId: string | null): Promise<void> {
  const { accountId, grantId } = grant
  const account = store.account(accountId, granteeOf(grant))
  const call = { tool: 'return_grant', arguments: grantInWords({ ...grant, id: grantId }), requestId }
  await recorded(
    account,
    call,
    (recording) =>
      endLive(recording, grantId, [store.global.oauth.grants.revoke(accountId, grantId, store.deps.now())]),
  )
}

/** A grant as the arguments of a call name it, readable also when it is forgotten. */
export function grantInWords(
  { id, clientId, clientName, alias }: { id: string; clientId: string; clientName: string; alias: string | null },
) {
  return { id, program: clientName, client: clientId, as: entryOf(alias) }
}

function granteeOf({ grantId, userId, agentId, alias }: TokenGrant): Actor {
  return agentId === null || alias === null
    ? { type: 'admin', credentialId: grantId, credentialKind: 'oauth', userId }
    : { type: 'agent', agentId, alias, credentialId: grantId, userId }
}

/** One of those who end a grant at the same time does it; the others find none. Fails with `credential_not_found`. */
async function endLive(account: AccountStore, id: string, end: Statement[]): Promise<void> {
  await againOnConflict(async () => {
    if (!(await account.read.grants.isLive(id))) throw notFound(id)
    await account.write([account.change.grants.requireLive(id), ...end])
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
    entry: entryOf(alias),
    createdAt,
    lastUsedAt,
  }
}

function entryOf(alias: string | null): string {
  return alias === null ? '@admin' : `@${alias}`
}

function notFound(id: string): GridError {
  return new GridError('credential_not_found', `No live grant has the id ${id}.`)
}
