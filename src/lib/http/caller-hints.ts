/**
 * Which caller sent a request, before its key is looked up. The process remembers the accounts of the keys that were
 * used lately. This is a hint for sharing the process, and never a permission. See docs/security.md, "Scheduling of
 * requests".
 */
import { crc32 } from 'node:zlib'
import type { Config } from '../../config.ts'
import { bearerToken } from './bearer-token.ts'
import { clientAddress, ipv6Prefix48 } from './client-address.ts'
import { RecentMap } from '../recent-map.ts'

/** How many keys are remembered at least. */
const maxKept = 20_000

/** What a request says about its caller. Nothing of it has been checked. */
export interface UncheckedRequest {
  /** The IP address of the other end of the socket. */
  readonly remoteAddress: string
  /** The value of a header, by its name in lower case. */
  header(name: string): string | null
}

export class CallerHints {
  /** By the checksum of the token: a key is not kept in memory. */
  readonly #accounts = new RecentMap<number, string>(maxKept)
  readonly #trustedProxies: readonly string[]

  constructor({ trustedProxies }: Pick<Config, 'trustedProxies'>) {
    this.#trustedProxies = trustedProxies
  }

  /** A request with this `Authorization` was authenticated for this account. */
  learn(authorization: string, account: string): void {
    const token = bearerToken(authorization)
    if (token !== undefined) this.#accounts.set(crc32(token), account)
  }

  /** A request with this `Authorization` was refused: its key no longer stands for its account. */
  forget(authorization: string | null): void {
    const token = bearerToken(authorization)
    if (token !== undefined) this.#accounts.delete(crc32(token))
  }

  /**
   * The account of the key of a request. Without a known key the client address, or the /48 of an IPv6 address.
   */
  callerOf(request: UncheckedRequest): string {
    const token = bearerToken(request.header('authorization'))
    const account = token === undefined ? undefined : this.#accounts.get(crc32(token))
    if (account !== undefined) return account
    const { remoteAddress } = request
    const address = clientAddress(remoteAddress, request.header('x-forwarded-for'), this.#trustedProxies)
    return ipv6Prefix48(address) ?? address
  }
}
