/** Client addresses: who is calling, as counted by limits. */
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/**
 * The client behind the proxies we trust: `X-Forwarded-For` is walked from the
 * right, as long as the address is a trusted proxy. Anything that is no address
 * ends the walk. Without trusted proxies the header is ignored.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | null, trustedProxies: readonly string[]) {
  let client = parse(socketAddress)
  if (!client) return 'unknown'
  const hops = (forwardedFor ?? '').split(',').reverse()
  for (const hop of hops) {
    if (!trustedProxies.some((proxy) => contains(proxy, client!))) break
    const next = parse(hop.trim())
    if (!next) break
    client = next
  }
  return bucket(client)
}

/** The unit of a limit: an IPv4 address, or the /64 of an IPv6 address. */
function bucket(address: Address): string {
  if (address.kind() === 'ipv4') return address.toString()
  const parts = (address as ipaddr.IPv6).parts.slice(0, 4)
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`
}

/** The /48 around an IPv6 unit of `clientAddress`; undefined for IPv4, where an address is all there is. */
export function wideAddress(unit: string): string | undefined {
  if (!unit.endsWith('::/64')) return undefined
  return `${unit.split(':').slice(0, 3).join(':')}::/48`
}

function parse(text: string): Address | undefined {
  if (!ipaddr.isValid(text)) return undefined
  // Four-part decimal only: `0x7f.1` and `2130706433` are addresses to some readers and not to others.
  if (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)) return undefined
  return ipaddr.process(text)
}

function contains(range: string, address: Address): boolean {
  if (!range.includes('/')) return parse(range)?.toString() === address.toString()
  const [base, bits] = ipaddr.parseCIDR(range)
  return base.kind() === address.kind() && address.match(base, bits)
}
