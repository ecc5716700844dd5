/** The bearer token of a request, to the account and the caller behind it. */
import { GridError } from '../errors.ts'
import { minute } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Statement } from '../store/driver/binding.ts'
import type { Credential } from '../store/global/credentials.ts'
import type { AccessToken } from '../store/global/oauth-tokens.ts'
import type { Store } from '../store/store.ts'
import type { AdminActor, AgentActor } from './actor.ts'
import { hashForLookup, keyKind, keyPrefixes } from './secrets.ts'

/** How precise "last used" is; a request that only reads does not become a write. */
const useInterval = minute

/**
 * Looks a token up for every request: a revoked key is dead on the next one, in every process. A call that lasts
 * asks again with the `before` of its beginning: an agent that was claimed meanwhile may be in another account.
 */
export type Bearer = (authorization: string | null, before?: AccountStore) => Promise<AccountStore>

/**
 * The caller of an `Authorization` header.
 * Fails with `unauthenticated`: missing, malformed, unknown or revoked, or its agent deleted. With `before` also
 * with `unavailable`: the account is another one now, and a new call finds it.
 *
 * Spec: "Authentication" 1 to 3. @see RFC 6750 §2.1
 */
export function bearer(store: Store): Bearer {
  const noted = new Map<string, number>()
  const accountIds = new WeakMap<AccountStore, string>()

  return async function authenticate(authorization, before) {
    const account = await byHeader(authorization)
    if (before && accountIds.get(before) !== accountIds.get(account)) throw moved()
    return account
  }

  async function byHeader(authorization: string | null): Promise<AccountStore> {
    const token = bearerToken(authorization)
    if (token === undefined) throw missing()
    // Typos and floods end here, before any database work.
    switch (keyKind(token)) {
      case 'agent_key':
      case 'admin_key':
        return await byKey(token)
      case 'access_token':
        return await byAccessToken(token)
      default:
        throw refused()
    }
  }

  async function byKey(token: string): Promise<AccountStore> {
    const credential = await store.global.credentials.byHash(hashForLookup(token))
    if (!credential) throw refused()
    const account = enter(credential.accountId, actorOf(credential))
    noteUse(account, credential, noted, account.change.keys.used)
    return account
  }

  async function byAccessToken(token: string): Promise<AccountStore> {
    const grant = await store.global.oauth.tokens.byAccessHash(hashForLookup(token), store.deps.now())
    if (!grant) throw ended()
    const account = enter(grant.accountId, granteeOf(grant))
    noteUse(account, grant, noted, account.change.grants.used)
    return account
  }

  function enter(accountId: string, actor: AgentActor | AdminActor): AccountStore {
    const account = store.account(accountId, actor)
    accountIds.set(account, accountId)
    return account
  }
}

/** The same for a door that no OAuth token was issued for: there it is refused like an unknown key. Security O5. */
export function keysOnly(authenticate: Bearer): Bearer {
  return async function authenticateKey(authorization, before) {
    if (bearerToken(authorization)?.startsWith(keyPrefixes.access_token)) throw refused()
    return await authenticate(authorization, before)
  }
}

/** Scheme `Bearer` and one token; undefined when there is no usable header. */
function bearerToken(authorization: string | null): string | undefined {
  return authorization?.match(/^Bearer +([^\s]+)$/i)?.[1]
}

function actorOf(credential: Credential) {
  return credential.kind === 'agent_key'
    ? {
      type: 'agent' as const,
      agentId: credential.agentId!,
      alias: credential.alias!,
      credentialId: credential.id,
      isUnlimited: credential.onTrial === 0,
    }
    : {
      type: 'admin' as const,
      credentialId: credential.id,
      credentialKind: 'admin_key' as const,
      userId: credential.userId,
    }
}

/** Agent or admin, as the person chose; never an admin because an agent is missing. Spec: "Authentication" 4. */
function granteeOf({ id, userId, grantedAgentId, agentId, alias, onTrial }: AccessToken): AgentActor | AdminActor {
  if (grantedAgentId === null) return { type: 'admin', credentialId: id, credentialKind: 'oauth', userId }
  if (agentId === null || alias === null) throw ended()
  return { type: 'agent', agentId, alias, credentialId: id, userId, isUnlimited: onTrial === 0 }
}

/** At most once a minute per credential and process, beside the request and not before its answer. */
function noteUse(
  account: AccountStore,
  credential: Pick<Credential, 'id' | 'agentId' | 'lastUsedAt'>,
  noted: Map<string, number>,
  used: (id: string, at: number) => Statement,
): void {
  const { now, log } = account.deps
  const at = now()
  if (at - (credential.lastUsedAt ?? 0) < useInterval) return
  if (at - (noted.get(credential.id) ?? 0) < useInterval) return
  if (noted.size > 10_000) noted.clear()
  noted.set(credential.id, at)

  const changes = [used(credential.id, at)]
  if (credential.agentId !== null) changes.push(account.change.agents.seen(credential.agentId, at))
  account.write(changes).catch((error) => log.warn('The use of a key was not noted', { error }))
}

function missing(): GridError {
  return new GridError('unauthenticated', 'Sign in: send Authorization: Bearer <key>, or use OAuth', {
    credential: 'missing',
  })
}

function refused(): GridError {
  return new GridError(
    'unauthenticated',
    'This key is unknown or was revoked. Ask the owner of the agent for a new one.',
    {
      credential: 'refused',
    },
  )
}

function moved(): GridError {
  return new GridError('unavailable', 'This agent was moved to another account. Repeat the call.', {
    retryAfterSeconds: 1,
  })
}

function ended(): GridError {
  return new GridError('unauthenticated', 'This access token has expired or was revoked. Sign in again.', {
    credential: 'refused',
  })
}
