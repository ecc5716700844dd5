/** Where outbound requests may go: addresses of servers as text, and as numbers. Security 7.1, rules 2 to 5. */
import ipaddr from 'ipaddr.js'

export interface TargetRules {
  /** Loopback and private networks too, and `http:`. */
  readonly allowPrivateTargets: boolean
  /** Addresses and CIDR ranges that the operator closes. */
  readonly blockedTargets: readonly string[]
}

/** Ranges that `allowPrivateTargets` opens; all others but public addresses stay closed. */
const privateRanges = ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']

/** The metadata services of clouds, wherever they lie: they hand out credentials to whoever asks. */
const metadataServices = ['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254']

/** All that is assigned to the public internet; other IPv6 addresses only look public. */
const publicIPv6 = ipaddr.parseCIDR('2000::/3')

/** Below this, ports belong to the system; only those of the web are open. */
const firstUserPort = 1024
/** Databases, caches, clusters, desktops, mail, telephones: services that would take our bytes for their commands. */
const closedPorts = new Set([
  ...[1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3268, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432],
  ...[5672, 5900, 5984, 5985, 6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 7001, 8500, 9042, 9092],
  ...[9200, 9300, 10080, 10250, 11211, 27017],
])

/** A plain `https:` address on an open port, also `http:` where private targets are allowed; otherwise undefined. */
export function parseTarget(text: string, { allowPrivateTargets }: TargetRules): URL | undefined {
  // The parser drops line ends and tabs, so that what was checked elsewhere is another text.
  if (text.length > 2_000 || !/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isOpen = url.protocol === 'https:' || (url.protocol === 'http:' && allowPrivateTargets)
  if (!isOpen || url.hostname === '' || url.username !== '' || url.password !== '') return undefined
  return isOpenPort(portOf(url)) ? url : undefined
}

/** The port that is meant. */
export function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
}

/** The host as a resolver or TLS wants it: an IPv6 address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether a host is an address itself, which no resolver is asked for. */
export function isAddress(host: string): boolean {
  return ipaddr.isValid(host)
}

/** Whether we may connect to an address, of which nothing but its number counts. */
export function isAllowedAddress(text: string, { allowPrivateTargets, blockedTargets }: TargetRules): boolean {
  // A zone names a link, and only link-local addresses need one.
  if (text.includes('%') || !ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if ([...metadataServices, ...blockedTargets].some((range) => isWithin(address, range))) return false

  const range = address.range()
  if (address.kind() === 'ipv6' && range === 'loopback') return allowPrivateTargets && address.toString() === '::1'
  if (privateRanges.includes(range)) return allowPrivateTargets
  return range === 'unicast' && (address.kind() === 'ipv4' || address.match(publicIPv6))
}

/** Whether an address leads back to this machine, whose own addresses are `own`. */
export function isOwnAddress(text: string, own: readonly string[]): boolean {
  const address = ipaddr.process(text)
  return address.range() === 'loopback' || own.some((other) => isWithin(address, other.replace(/%.*$/, '')))
}

function isOpenPort(port: number): boolean {
  return port === 443 || port === 80 || (port >= firstUserPort && !closedPorts.has(port))
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, range: string): boolean {
  const [base, bits] = range.includes('/') ? ipaddr.parseCIDR(range) : [ipaddr.process(range), undefined]
  if (base.kind() !== address.kind()) return false
  return address.match(base, bits ?? (base.kind() === 'ipv4' ? 32 : 128))
}
