/** URLs and IP addresses that outgoing requests may use. See docs/security.md, "Outgoing requests". */
import ipaddr from 'ipaddr.js'
import { invalidInput } from '../../errors.ts'

export interface EgressPolicy {
  /** Whether loopback addresses, private networks and `http:` are also allowed. */
  readonly allowPrivateTargets: boolean
  /** IP addresses and CIDR ranges that the operator blocks. */
  readonly blockedTargets: readonly string[]
}

/** Ranges that `allowPrivateTargets` allows. Apart from these ranges, only public addresses are allowed. */
const privateRanges = ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']

/** Cloud providers' metadata services, which return credentials without authentication. They are never allowed. */
const metadataServices = ['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254']

/** The public IPv6 addresses. `ipaddr.js` also classifies other addresses as `unicast`. */
const publicIPv6 = ipaddr.parseCIDR('2000::/3')

/** Below this port, only the ports 80 and 443 are allowed. */
const firstUserPort = 1024
/**
 * Ports of services that might run a request as commands: databases, caches, clusters, remote desktops, email,
 * telephony.
 */
const blockedPorts = new Set([
  ...[1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3268, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432],
  ...[5672, 5900, 5984, 5985, 6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 7001, 8500, 9042, 9092],
  ...[9200, 9300, 10080, 10250, 11211, 27017],
])

/**
 * Parses a URL if it is allowed: `https:` (with private targets also `http:`) on an allowed port, without a user.
 * Otherwise returns undefined.
 */
export function parseAllowedUrl(text: string, { allowPrivateTargets }: EgressPolicy): URL | undefined {
  // Refuses line breaks and tabs, because the parser removes them, and another check could see a different text.
  if (text.length > 2_000 || !/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isAllowedScheme = url.protocol === 'https:' || (url.protocol === 'http:' && allowPrivateTargets)
  if (!isAllowedScheme || url.hostname === '' || url.username !== '' || url.password !== '') return undefined
  return isAllowedPort(portOf(url)) ? url : undefined
}

/**
 * Parses the URL of a server that will be called later, if it is allowed. An IP address in it is checked now. A host
 * name is resolved and checked with each call.
 */
export function parseAllowedTarget(text: string, policy: EgressPolicy): URL | undefined {
  const url = parseAllowedUrl(text, policy)
  if (!url) return undefined
  const host = hostnameOf(url)
  // RFC 6761, section 6.3: these names are loopback addresses.
  const address = /(^|\.)localhost\.?$/.test(host) ? '127.0.0.1' : host
  return !isIpAddress(address) || isAllowedAddress(address, policy) ? url : undefined
}

/** Returns the normal form of the URL in a request's field, checked like a target. Fails with `invalid_input`. */
export function requireAllowedTarget(text: string, policy: EgressPolicy, field: string): string {
  const url = parseAllowedTarget(text, policy)
  if (url) return url.href
  const rule = policy.allowPrivateTargets
    ? 'an http or https address without user and password, on an allowed port'
    : 'an https address without user and password, on an allowed port and not in a private network'
  throw invalidInput(`${field} must be ${rule}.`, field)
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** Returns the host for a resolver or TLS: an IPv6 address has no brackets. */
export function hostnameOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether a host is an IP address, not a name. */
export function isIpAddress(host: string): boolean {
  return ipaddr.isValid(host)
}

/** Whether connections to an IP address are allowed. */
export function isAllowedAddress(text: string, { allowPrivateTargets, blockedTargets }: EgressPolicy): boolean {
  // Addresses with a zone are link-local.
  if (text.includes('%') || !ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if ([...metadataServices, ...blockedTargets].some((range) => isWithin(address, range))) return false

  const range = address.range()
  if (address.kind() === 'ipv6' && range === 'loopback') return allowPrivateTargets && address.toString() === '::1'
  if (privateRanges.includes(range)) return allowPrivateTargets
  return range === 'unicast' && (address.kind() === 'ipv4' || address.match(publicIPv6))
}

/** Whether an IP address belongs to this machine: a loopback address, or one of its network addresses. */
export function isLocalAddress(text: string, machineAddresses: readonly string[]): boolean {
  const address = ipaddr.process(text)
  return address.range() === 'loopback' ||
    machineAddresses.some((other) => isWithin(address, other.replace(/%.*$/, '')))
}

function isAllowedPort(port: number): boolean {
  return port === 443 || port === 80 || (port >= firstUserPort && !blockedPorts.has(port))
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, range: string): boolean {
  const [base, bits] = range.includes('/') ? ipaddr.parseCIDR(range) : [ipaddr.process(range), undefined]
  if (base.kind() !== address.kind()) return false
  return address.match(base, bits ?? (base.kind() === 'ipv4' ? 32 : 128))
}
