/**
 * Who waits for a turn. The account of a request is known only after its key was looked up, but requests take turns
 * before that. So the process remembers the accounts of the keys that were used lately: a hint for taking turns, never
 * a permission. See docs/security.md, "Taking turns".
 */
import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Config } from '../config.ts'
import { clientAddress } from './client-address.ts'

/** So that nobody can choose a key with the checksum of another one. */
const seed = randomInt(2 ** 32)

/** A generation of keys. Two are kept, so that forgetting takes no search. */
const maxKept = 20_000

export class Callers {
  /** The accounts of `Authorization` headers, by their checksum: a key is not kept in memory. */
  #used = new Map<number, string>()
  #unused = new Map<number, string>()
  readonly #trustedProxies: readonly string[]

  constructor({ trustedProxies }: Pick<Config, 'trustedProxies'>) {
    this.#trustedProxies = trustedProxies
  }

  /** A request with this `Authorization` was authenticated for this account. */
  learn(authorization: string, account: string): void {
    const sum = checksum(authorization)
    if (this.#used.get(sum) === account) return
    if (this.#used.size >= maxKept) {
      this.#unused = this.#used
      this.#used = new Map()
    }
    this.#used.set(sum, account)
  }

  /** A request with this `Authorization` was refused: whoever has a revoked key takes no turns of its account. */
  forget(authorization: string | null): void {
    if (authorization === null) return
    const sum = checksum(authorization)
    this.#used.delete(sum)
    this.#unused.delete(sum)
  }

  /** Whose turn a request takes: that of the account of its key, or that of its client address if it has no known key. */
  callerOf(header: (name: string) => string | null, connection: { readonly remoteAddress: string }): string {
    const authorization = header('authorization')
    if (authorization !== null) {
      const sum = checksum(authorization)
      const account = this.#used.get(sum) ?? this.#unused.get(sum)
      if (account !== undefined) return account
    }
    return clientAddress(connection.remoteAddress, header('x-forwarded-for'), this.#trustedProxies)
  }
}

/** A hint needs no more than a checksum, which costs a tenth of a digest in every request. */
function checksum(authorization: string): number {
  return crc32(authorization, seed)
}
