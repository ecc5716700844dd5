/** The bearer token of a request, to the account and the caller behind it. */
import { GridError } from '../errors.ts'
import { minute } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Credential } from '../store/global/credentials.ts'
import type { Store } from '../store/store.ts'
import { hashForLookup, keyKind } from './secrets.ts'

/** How precise "last used" is; a request that only reads does not become a write. */
const useInterval = minute

/** Looks a token up for every request: a revoked key is dead on the next one, in every process. */
export type Bearer = (authorization: string | null) => Promise<AccountStore>

/**
 * The caller of an `Authorization` header.
 * Fails with `unauthenticated`: missing, malformed, unknown or revoked, or its agent deleted.
 *
 * Spec: "Authentication" 1 to 3. @see RFC 6750 §2.1
 */
export function bearer(store: Store): Bearer {
  const noted = new Map<string, number>()

  return async function authenticate(authorization) {
    const token = bearerToken(authorization)
    if (token === undefined) throw missing()
    // Typos and floods end here, before any database work.
    if (keyKind(token) === undefined) throw refused()
    const credential = await store.global.credentials.byHash(hashForLookup(token))
    if (!credential) throw refused()

    const account = store.account(credential.accountId, actorOf(credential))
    noteUse(account, credential, noted)
    return account
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
    }
    : {
      type: 'admin' as const,
      credentialId: credential.id,
      credentialKind: 'admin_key' as const,
      userId: credential.userId,
    }
}

/** At most once a minute per credential and process, beside the request and not before its answer. */
function noteUse(account: AccountStore, credential: Credential, noted: Map<string, number>): void {
  const { now, log } = account.deps
  const at = now()
  if (at - (credential.lastUsedAt ?? 0) < useInterval) return
  if (at - (noted.get(credential.id) ?? 0) < useInterval) return
  if (noted.size > 10_000) noted.clear()
  noted.set(credential.id, at)

  const changes = [account.change.keys.used(credential.id, at)]
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
