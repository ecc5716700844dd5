/** OAuth grants: list and revoke them. See docs/protocol/oauth.md, "Grants". */
import { type Actor, allows, requireAdmin, requirePermission, type SignedInUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { RevocableAccess } from '../../store/global/oauth-grants.ts'
import type { TokenOfGrant } from '../../store/global/oauth-tokens.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { type ActivityActor, activityRow, recordActivity } from '../activity.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

/** A grant as pages show it. Times are milliseconds since the epoch. */
export interface ListedGrant extends GrantRow {
  /** The host of the client ID metadata document; null for a client that registered itself. */
  clientDomain: string | null
  /** What the client acts as: `@admin`, or the alias of an agent with `@`. */
  actsAs: string
  /** The agent key that the client fetched with the grant, or null. Revoked together with the grant. */
  key: { last4: string; lastUsedAt: number | null } | null
}

export interface OwnGrant extends ListedGrant {
  accountName: string
}

export interface AccountGrant extends ListedGrant {
  email: string
}

export async function listOwnGrants({ global, deps }: Store, userId: string): Promise<OwnGrant[]> {
  return (await global.oauth.grants.ofUser(userId, deps.now())).map(asListed)
}

/** Revokes a grant of the signed-in user, with the agent key that was fetched with it. */
export async function revokeOwnGrant(
  store: Store,
  { user, sessionId }: SignedInUser,
  id: string,
  requestId: string | null,
): Promise<void> {
  const grant = await store.global.oauth.grants.ofUserById(user.id, id)
  if (!grant) throw notFound(id)
  const account = store.account(grant.accountId, { type: 'user', userId: user.id, role: grant.role, sessionId })
  const call = { tool: 'revoke_own_grant', arguments: describeGrant(grant), requestId }
  await recordActivity(account, call, (recording) => endLiveGrant(recording, id))
}

export async function listGrants(account: AccountStore): Promise<AccountGrant[]> {
  requireAdmin(account.actor)
  return (await account.read.grants.list(account.deps.now())).map(asListed)
}

/** Returns the live grants to act as an agent, newest first: members see their own, owners and admins all. */
export async function listGrantsOfAgent(account: AccountStore, agentId: string): Promise<AccountGrant[]> {
  const { actor, deps } = account
  requirePermission(actor, 'view')
  const found = await account.read.grants.ofAgent(agentId, deps.now())
  const seen = actor.type === 'user' && !allows(actor.role, 'manage')
    ? found.filter(({ userId }) => userId === actor.userId)
    : found
  return seen.map(asListed)
}

export async function revokeGrant(account: AccountStore, id: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  await endLiveGrant(account, id)
  return { id }
}

/** Revokes a grant because its client revoked the refresh token. The grant is the actor. @see RFC 7009 §2.1 */
export async function revokeGrantByClient(store: Store, grant: TokenOfGrant, requestId: string | null): Promise<void> {
  const { accountId, grantId } = grant
  const account = store.account(accountId, actorOfGrant(grant))
  const call = { tool: 'return_grant', arguments: describeGrant({ ...grant, id: grantId }), requestId }
  await recordActivity(account, call, (recording) => endLiveGrant(recording, grantId))
}

/** Describes the grant in the arguments of a logged call, so that the log is readable after the grant is deleted. */
export function describeGrant(
  { id, clientId, clientName, alias }: { id: string; clientId: string; clientName: string; alias: string | null },
) {
  return { id, program: clientName, client: clientId, as: actsAsOf(alias) }
}

function actorOfGrant({ grantId, userId, agentId, alias }: TokenOfGrant): Actor {
  return agentId === null || alias === null
    ? { type: 'admin', credentialId: grantId, credentialKind: 'oauth', userId }
    : { type: 'agent', agentId, alias, credentialId: grantId, userId }
}

/**
 * Revokes a live grant. If several callers do so at once, one succeeds; the others fail with `credential_not_found`.
 */
async function endLiveGrant(account: AccountStore, id: string): Promise<void> {
  const { grants } = account.change
  await retryOnConflict(async () => {
    if (!(await account.read.grants.live(id))) throw notFound(id)
    await account.write([grants.requireLive(id), grants.revoke(id, account.deps.now())])
  })
}

interface GrantRow {
  id: string
  clientId: string
  clientName: string
  alias: string | null
  createdAt: number
  lastUsedAt: number | null
  keyLast4: string | null
  keyLastUsedAt: number | null
}

function asListed<Row extends GrantRow>(row: Row): Row & ListedGrant {
  const { clientId, alias, keyLast4, keyLastUsedAt } = row
  return {
    ...row,
    clientDomain: clientId.startsWith('https://') ? new URL(clientId).host : null,
    actsAs: actsAsOf(alias),
    key: keyLast4 === null ? null : { last4: keyLast4, lastUsedAt: keyLastUsedAt },
  }
}

function actsAsOf(alias: string | null): string {
  return alias === null ? '@admin' : `@${alias}`
}

function notFound(id: string): GridError {
  return new GridError('credential_not_found', `There is no active grant with the id ${id}.`)
}

/** Maximum number of accounts whose grants one unit revokes. The unit appends to each account's activity log. */
export const maxAccountsAtOnce = 20

interface RevokeAllInput {
  userId: string
  tool: string
  requestId: string | null
  precondition: Statement[]
  /** Statements of the change itself. They include the precondition. */
  statements: Statement[]
}

/**
 * Runs `statements` and, in the same unit, revokes all grants of a user, with an activity row in each account affected.
 * With more than `maxAccountsAtOnce` accounts, earlier units revoke the others first, and these stay revoked if the
 * last unit fails.
 */
export async function revokeAllGrants(
  store: Store,
  { userId, tool, requestId, precondition, statements }: RevokeAllInput,
): Promise<void> {
  const { global: { oauth: { revocations } }, deps, record } = store
  // No session, because the user of an email link may not be signed in.
  const actor: ActivityActor = { type: 'user', userId, sessionId: '' }
  for (;;) {
    const at = deps.now()
    const found = await revocations.find(userId, at)
    const accounts = groupByAccount(found)
    const first = accounts.slice(0, maxAccountsAtOnce)
    const rows = first.map(([accountId, revoked]) => {
      const call = { tool, arguments: { programs: revoked.map(describeRevoked) }, requestId }
      return { accountId, entry: activityRow(actor, call, 'ok', at) }
    })
    if (first.length === accounts.length && found.length < revocations.maxFound) {
      const ids = found.map(({ id }) => id)
      await record(rows, [
        revocations.requireUnchanged(userId, ids, at),
        ...statements,
        revocations.revokeAll(userId, at),
      ])
      return
    }
    const revoke = first.map(([accountId]) => revocations.revokeInAccount(accountId, userId, at))
    await record(rows, [...precondition, ...revoke])
  }
}

function groupByAccount(found: RevocableAccess[]): [accountId: string, access: RevocableAccess[]][] {
  const accounts = new Map<string, RevocableAccess[]>()
  for (const access of found) accounts.set(access.accountId, [...accounts.get(access.accountId) ?? [], access])
  return [...accounts]
}

function describeRevoked(grant: RevocableAccess) {
  const { program, ...fields } = describeGrant(grant)
  return { name: program, ...fields }
}
