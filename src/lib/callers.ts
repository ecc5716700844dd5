/**
 * Who waits for a turn. The account of a request is known only after its key was looked up, but requests take turns
 * before that. So the process remembers the accounts of the keys that were used lately: a hint for taking turns, never
 * a permission. See docs/security.md, "Taking turns".
 */
import type { Config } from '../config.ts'
import { clientAddress } from './client-address.ts'
import { hashForLookup } from './secrets.ts'

/** A generation of keys. Two are kept, so that forgetting takes no search. */
const maxKept = 20_000

export class Callers {
  /** The accounts of `Authorization` headers, by their SHA-256: a key is not kept in memory. */
  #used = new Map<string, string>()
  #unused = new Map<string, string>()
  readonly #trustedProxies: readonly string[]

  constructor({ trustedProxies }: Pick<Config, 'trustedProxies'>) {
    this.#trustedProxies = trustedProxies
  }

  /** A request with this `Authorization` was authenticated for this account. */
  learn(authorization: string, account: string): void {
    const hash = hashForLookup(authorization)
    if (this.#used.get(hash) === account) return
    if (this.#used.size >= maxKept) {
      this.#unused = this.#used
      this.#used = new Map()
    }
    this.#used.set(hash, account)
  }

  /** A request with this `Authorization` was refused: whoever has a revoked key takes no turns of its account. */
  forget(authorization: string | null): void {
    if (authorization === null) return
    const hash = hashForLookup(authorization)
    this.#used.delete(hash)
    this.#unused.delete(hash)
  }

  /** Whose turn a request takes: that of the account of its key, or that of its client address if it has no known key. */
  callerOf(header: (name: string) => string | null, connection: { readonly remoteAddress: string }): string {
    const authorization = header('authorization')
    if (authorization !== null) {
      const hash = hashForLookup(authorization)
      const account = this.#used.get(hash) ?? this.#unused.get(hash)
      if (account !== undefined) return account
    }
    return clientAddress(connection.remoteAddress, header('x-forwarded-for'), this.#trustedProxies)
  }
}
