/** Bearer authentication: determines a request's caller and account from the `Authorization` header. */
import { GridError, isStorageFull } from '../errors.ts'
import { addressOf, bearerToken } from '../lib/http/client-address.ts'
import { accountCallLimit, type CallLimit, credentialCallLimit } from '../lib/limits/call-limits.ts'
import { once } from '../lib/lazy.ts'
import { LruMap } from '../lib/lru-map.ts'
import { hashForLookup, keyKind, keyPrefixes } from '../lib/secrets.ts'
import { minute } from '../lib/time.ts'
import type { AppContext } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import type { Statement } from '../store/sql.ts'
import type { Credential } from '../store/global/credentials.ts'
import type { AccessToken } from '../store/global/oauth-tokens.ts'
import type { Store } from '../store/store.ts'
import type { Actor, AdminActor, AgentActor } from './actor.ts'

/** Precision of "last used". It avoids a database write on every request. */
const lastUsedPrecisionMs = minute

/**
 * Authenticates a request by its `Authorization` header. Access tokens are looked up in the database every time. With a
 * local file, keys may come from a `KeyCache`. Every write that could revoke a key clears the cache, so every process
 * refuses a revoked key on the next request. See docs/security.md, "Keys and tokens". Fails with `unauthenticated`.
 *
 * A long-running call authenticates again and passes its original store as `previous`. The call then fails with
 * `unavailable` if the agent was moved to another account.
 */
export type Authenticate = (authorization: string | null, previous?: AccountStore) => Promise<AccountStore>

/**
 * Creates a function that authenticates against the credentials in a store. See docs/protocol/README.md, "Credentials".
 * @see RFC 6750 §2.1
 */
export function createAuthenticator(store: Store): Authenticate {
  const recordedUses = new Map<string, number>()

  return async function authenticate(authorization, previous) {
    const account = await byHeader(authorization)
    if (previous && previous.owner !== account.owner) throw agentMoved()
    return account
  }

  async function byHeader(authorization: string | null): Promise<AccountStore> {
    const token = bearerToken(authorization)
    if (token === undefined) throw missingKey('Sign in: send Authorization: Bearer <key>, or use OAuth')
    // Reject typos and floods without a database query.
    switch (keyKind(token)) {
      case 'agent_key':
      case 'admin_key':
        return await byKey(hashForLookup(token))
      case 'access_token':
        return await byAccessToken(token)
      default:
        throw notAKey(token)
    }
  }

  async function byKey(hash: string): Promise<AccountStore> {
    const credential = await store.global.credentials.byHash(hash, store.deps.now())
    if (!credential) throw unknownKey()
    const account = store.account(credential.accountId, actorOfKey(credential))
    recordUse(store, account, credential, recordedUses, account.change.keys.markUsed)
    return account
  }

  async function byAccessToken(token: string): Promise<AccountStore> {
    const grant = await store.global.oauth.tokens.byAccessHash(hashForLookup(token), store.deps.now())
    if (!grant) throw tokenEnded()
    const account = store.account(grant.accountId, actorOfToken(grant))
    recordUse(store, account, grant, recordedUses, account.change.grants.markUsed)
    return account
  }
}

/**
 * Restricts authentication to keys, for endpoints that are not OAuth resources. Access tokens are refused like unknown
 * keys. See docs/security.md, "OAuth".
 */
export function keysOnly(authenticate: Authenticate): Authenticate {
  return async function authenticateKey(authorization, previous) {
    const token = bearerToken(authorization)
    if (token === undefined) throw missingKey('Sign in: send Authorization: Bearer <key>')
    if (token.startsWith(keyPrefixes.access_token)) throw unknownKey()
    return await authenticate(authorization, previous)
  }
}

/** A request whose caller is authenticated or presumed. */
export interface AuthenticatedCall {
  /** The actual or presumed caller. */
  readonly actor: Actor
  /** Resolves to the caller's account once the credential has been looked up. */
  caller(): Promise<AccountStore>
  /**
   * Answers the call, possibly before the caller has been looked up. With a remote database, a known credential is
   * presumed to belong to the same agent as at its last lookup. The lookup is sent together with the first reads. If it
   * does not confirm the presumed caller, nothing is read or written in that caller's account, and `answer` runs again
   * for the actual caller. Fails like `Authenticate` and `answer`. See docs/security.md, "Keys and tokens".
   */
  serve<Answer>(answer: (account: AccountStore) => Promise<Answer>): Promise<Answer>
  /** Authenticates a long-running call again without counting it. Fails like `Authenticate` with `previous`. */
  check(): Promise<AccountStore>
}

/**
 * Authenticates a request and counts it, before reading its body. If `serve` may presume the agent, this only counts
 * the request. Fails like `Authenticate`, or with `rate_limit_exceeded` if the credential, its account, or refused keys
 * from the client address have reached their limit.
 */
export type AuthenticateCall = (c: AppContext) => Promise<AuthenticatedCall>

/** Maximum number of remembered agents. */
const maxKnown = 5_000

/** The agent that each credential belonged to at its last lookup. `serve` uses it as a guess, never as a permission. */
class KnownAgents {
  /** The last known agent of each credential, by the hash of its token. */
  readonly #known = new LruMap<string, { accountId: string; actor: AgentActor }>(maxKnown)
  readonly #isKept: boolean

  /** With a local file, nothing is remembered, because lookups are immediate. */
  constructor({ durability }: Pick<Store, 'durability'>) {
    this.#isKept = durability === 'remote'
  }

  get(token: string | undefined) {
    return this.#isKept && token !== undefined ? this.#known.get(hashForLookup(token)) : undefined
  }

  learn(token: string | undefined, accountId: string, actor: Actor): void {
    if (!this.#isKept || token === undefined || actor.type !== 'agent') return
    this.#known.set(hashForLookup(token), { accountId, actor })
  }

  forget(token: string | undefined): void {
    if (this.#isKept && token !== undefined) this.#known.delete(hashForLookup(token))
  }
}

/**
 * Creates the process's call limits, which all endpoints share. Returns a function that adds them to an `Authenticate`.
 * `ofRefusedKeys` counts refused keys by client address.
 */
export function createCallLimits(
  store: Store,
  ofRefusedKeys: CallLimit,
): (authenticate: Authenticate) => AuthenticateCall {
  const { config, now, callerHints } = store.deps
  const knownAgents = new KnownAgents(store)
  const ofCredential = credentialCallLimit(config)
  const ofAccount = accountCallLimit(config)

  /** Counts an accepted call. Refused calls do not count. */
  function countCall({ actor, owner }: AccountStore): void {
    if (!('credentialId' in actor)) return
    const at = now()
    ofCredential?.check(actor.credentialId, at)
    ofAccount?.count(owner, at)
    ofCredential?.count(actor.credentialId, at)
  }

  return (authenticate) =>
    async function authenticateCall(c) {
      const authorization = c.req.raw.headers.get('authorization')
      const token = bearerToken(authorization)
      const trace = c.get('trace')
      const known = knownAgents.get(token)
      const find = once(async () => {
        // Look up the key first, so that a valid key is never locked out by refused keys from the same address.
        const account = await authenticate(authorization).catch((error) => {
          if (isRefusedKey(error)) {
            knownAgents.forget(token)
            callerHints.forget(authorization)
            ofRefusedKeys.count(addressOf(c, config), now())
          }
          throw error
        })
        knownAgents.learn(token, account.owner, account.actor)
        if (c.env.caller !== account.owner) callerHints.learn(authorization!, account.owner)
        trace.account = account.trace
        return account
      })
      const proof = once(async () => {
        const account = await find().catch(() => undefined)
        if (!account || !isSame(account, expected!)) throw unproven()
        trace.account = expected!.trace
      })
      const expected = known && store.account(known.accountId, known.actor, proof)
      let caller: AccountStore = expected ?? await find()

      try {
        countCall(caller)
      } catch (error) {
        // If the credential has been revoked, fail with the lookup's error instead of the limit's.
        await find()
        throw error
      }
      return {
        actor: caller.actor,
        caller: find,
        check: () => authenticate(authorization, caller),
        async serve(answer) {
          if (!expected) return await answer(caller)
          const [early] = await Promise.allSettled([answer(expected)])
          const isProven = await proof().then(() => true, () => false)
          if (!isProven) {
            // Cancelling the presumed caller's stream undoes the stream's effects in memory.
            if (early.status === 'fulfilled' && early.value instanceof Response) await early.value.body?.cancel()
            caller = await find()
            trace.code = undefined
            return await answer(caller)
          }
          if (early.status === 'rejected') throw early.reason
          return early.value
        },
      }
    }
}

function isSame(one: AccountStore, other: AccountStore): boolean {
  const [first, second] = [one, other].map((account) => JSON.stringify([account.owner, account.actor]))
  return first === second
}

function isRefusedKey(error: unknown): boolean {
  return error instanceof GridError && error.details.credential === 'refused'
}

function actorOfKey(credential: Credential): AgentActor | AdminActor {
  const { id, kind, agentId, alias, onTrial, userId } = credential
  if (kind !== 'agent_key') return { type: 'admin', credentialId: id, credentialKind: 'admin_key', userId }
  return { type: 'agent', agentId: agentId!, alias: alias!, credentialId: id, isUnlimited: onTrial === 0 }
}

/**
 * Returns the agent or admin that the user chose. The token of a deleted agent is refused, and never authenticates the
 * admin. See docs/protocol/oauth.md, "Account picker".
 */
function actorOfToken({ id, userId, grantedAgentId, agentId, alias, onTrial }: AccessToken): AgentActor | AdminActor {
  if (grantedAgentId === null) return { type: 'admin', credentialId: id, credentialKind: 'oauth', userId }
  if (agentId === null || alias === null) throw tokenEnded()
  return { type: 'agent', agentId, alias, credentialId: id, userId, isUnlimited: onTrial === 0 }
}

/** Records the use of a credential in the background, at most once a minute. */
function recordUse(
  store: Store,
  account: AccountStore,
  credential: Pick<Credential, 'id' | 'agentId' | 'lastUsedAt'>,
  recordedUses: Map<string, number>,
  markUsed: (id: string, at: number) => Statement,
): void {
  const { now, log } = account.deps
  const at = now()
  if (at - (credential.lastUsedAt ?? 0) < lastUsedPrecisionMs) return
  if (at - (recordedUses.get(credential.id) ?? 0) < lastUsedPrecisionMs) return
  if (recordedUses.size > 10_000) recordedUses.clear()
  recordedUses.set(credential.id, at)

  const changes = [markUsed(credential.id, at)]
  if (credential.agentId !== null) changes.push(account.change.agents.markSeen(credential.agentId, at))
  // Write through the store, because a write through the account would be counted in the call's trace.
  store.write(changes).catch((error) => {
    if (!isStorageFull(error)) log.warn('The last use of a credential could not be recorded', { error })
  })
}

function missingKey(message: string): GridError {
  return new GridError('unauthenticated', message, { credential: 'missing' })
}

function unknownKey(): GridError {
  return new GridError(
    'unauthenticated',
    'This key is unknown or was revoked. Ask the owner of the agent for a new one.',
    { credential: 'refused' },
  )
}

/** Describes the value sent instead of a key, without repeating it. */
function notAKey(token: string): GridError {
  const isPrefixed = Object.values(keyPrefixes).some((prefix) => token.startsWith(prefix))
  const why = /\$\{|\$\w|\{\{|^%/.test(token)
    ? 'It is the name of a variable that the client has not expanded'
    : /^["'\u201c\u2018`]|["'\u201d\u2019`]$/.test(token)
    ? 'It is in quotes'
    : isPrefixed
    ? 'It is truncated or has a typo'
    : `A key begins with ${keyPrefixes.agent_key} or ${keyPrefixes.admin_key}`
  return new GridError('unauthenticated', `This is not a grid key. ${why}.`, { credential: 'refused' })
}

function agentMoved(): GridError {
  return new GridError('unavailable', 'This agent was moved to another account. Repeat the call.', {
    retryAfterSeconds: 1,
  })
}

/** This error never reaches a client: `serve` answers the call again, or fails with the lookup's error. */
function unproven(): GridError {
  return new GridError('unauthenticated', 'The caller is not the expected one.')
}

function tokenEnded(): GridError {
  return new GridError('unauthenticated', 'This access token has expired or was revoked. Sign in again.', {
    credential: 'refused',
  })
}
