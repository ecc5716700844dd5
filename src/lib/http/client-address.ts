/** Identifies the sender of a request: the client address for rate limits, and a hint about the account. */
import ipaddr from 'ipaddr.js'
import { crc32 } from 'node:zlib'
import type { Config } from '../../config.ts'
import { LruMap } from '../lru-map.ts'

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** The value for clients whose address is unknown. */
export const unknownAddress = 'unknown'

/**
 * Returns the client's address: an IPv4 address, the /64 of an IPv6 address, or `unknown`. Behind trusted proxies, the
 * address comes from `X-Forwarded-For`. The header is read from the right until an address is not a trusted proxy, or
 * an entry is not an IP address. It is ignored if no proxies are trusted. See docs/security.md, "Requests".
 */
export function clientAddress(
  socketAddress: string,
  forwardedFor: string | null,
  trustedProxies: readonly string[],
): string {
  let client = parse(socketAddress)
  if (!client) return unknownAddress
  const hops = (forwardedFor ?? '').split(',').reverse()
  for (const hop of hops) {
    if (!trustedProxies.some((proxy) => contains(proxy, client!))) break
    const next = parse(hop.trim())
    if (!next) break
    client = next
  }
  return rateLimitUnit(client)
}

export function addressOf(
  { req, env }: { req: { raw: Request }; env: { remoteAddress: string } },
  { trustedProxies }: Pick<Config, 'trustedProxies'>,
): string {
  return clientAddress(env.remoteAddress, req.raw.headers.get('x-forwarded-for'), trustedProxies)
}

function rateLimitUnit(address: IpAddress): string {
  if (address.kind() === 'ipv4') return address.toString()
  const parts = (address as ipaddr.IPv6).parts.slice(0, 4)
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`
}

/** The limit of an IPv6 /48 as a multiple of the limit of a /64. See docs/people.md, "Signing in". */
export const networkFactor48 = 10

/** Returns the /48 of an IPv6 client address from `clientAddress`. Undefined for IPv4. */
export function ipv6Prefix48(address: string): string | undefined {
  if (!address.endsWith('::/64')) return undefined
  return `${address.split(':').slice(0, 3).join(':')}::/48`
}

function parse(text: string): IpAddress | undefined {
  if (!ipaddr.isValid(text)) return undefined
  // Accept only four decimal parts, because not all software reads `0x7f.1` or `2130706433` as addresses.
  if (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)) return undefined
  return ipaddr.process(text)
}

function contains(range: string, address: IpAddress): boolean {
  if (!range.includes('/')) return parse(range)?.toString() === address.toString()
  const [base, bits] = ipaddr.parseCIDR(range)
  return base.kind() === address.kind() && address.match(base, bits)
}

/** Maximum number of remembered keys. */
const maxKept = 20_000

/** Unverified information about a request's caller. */
export interface UncheckedRequest {
  readonly remoteAddress: string
  header(name: string): string | null
}

/**
 * Remembers the accounts of recently used keys, to identify a caller before its key is looked up. This is only a hint
 * for fair scheduling, never a permission. See docs/security.md, "Overload".
 */
export class CallerHints {
  /** Accounts by the token's checksum, so that keys are not kept in memory. */
  readonly #accounts = new LruMap<number, string>(maxKept)
  readonly #trustedProxies: readonly string[]

  constructor({ trustedProxies }: Pick<Config, 'trustedProxies'>) {
    this.#trustedProxies = trustedProxies
  }

  /** Records that a request with this `Authorization` was authenticated for the account. */
  learn(authorization: string, account: string): void {
    const token = bearerToken(authorization)
    if (token !== undefined) this.#accounts.set(crc32(token), account)
  }

  /** Records that a request with this `Authorization` was refused, so its key no longer belongs to an account. */
  forget(authorization: string | null): void {
    const token = bearerToken(authorization)
    if (token !== undefined) this.#accounts.delete(crc32(token))
  }

  /** Returns the account of a request's key. For an unknown key, returns the client address or its IPv6 /48. */
  callerOf(request: UncheckedRequest): string {
    const token = bearerToken(request.header('authorization'))
    const account = token === undefined ? undefined : this.#accounts.get(crc32(token))
    if (account !== undefined) return account
    const { remoteAddress } = request
    const address = clientAddress(remoteAddress, request.header('x-forwarded-for'), this.#trustedProxies)
    return ipv6Prefix48(address) ?? address
  }
}

/** Returns the token after the scheme `Bearer`. Undefined if the header is missing or malformed. @see RFC 6750 §2.1 */
export function bearerToken(authorization: string | null): string | undefined {
  return authorization?.match(/^Bearer +([^\s]+)$/i)?.[1]
}
