/** Redirect URIs: which of them can be registered, and how a requested one is compared. See docs/protocol/oauth.md. */

const maxLength = 2_000
/** Matches loopback addresses. Native apps use a different port for each login. @see RFC 8252 §7.3 */
const loopback = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?(?=[/?]|$)/
/** Matches private-use schemes, which are reversed domain names and contain a dot. @see RFC 8252 §7.1 */
const privateUse = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/(?!\/*$)/
/**
 * Matches hosts without `;` and `,`. URL parsers accept these characters, but they are separators in the consent page's
 * content security policy.
 */
const plainHost = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/
/** Parameters that the grid appends. A redirect URI must not contain them. */
const responseParameters = ['code', 'error', 'error_description', 'iss', 'state']

/**
 * Whether a redirect URI is allowed: https, http on a loopback address, a private-use scheme with a dot, or an entry of
 * `allow`, where a trailing `*` stands for one segment. Rejects fragments, users, wildcards and URIs that are not
 * normalised, because parsers may interpret these differently.
 */
export function isAllowedRedirect(uri: string, allow: readonly string[]): boolean {
  if (allow.some((entry) => entry.endsWith('*') ? isBelow(uri, entry.slice(0, -1)) : entry === uri)) return true
  return isAllowedKind(withPlainOrigin(uri))
}

/**
 * Whether a URI extends a prefix by one plain segment, such as the id that an editor assigns to each server. A segment
 * of dots is refused, because URL parsers resolve it to another path.
 */
function isBelow(uri: string, beginning: string): boolean {
  return uri.startsWith(beginning) && /^(?!\.{1,2}$)[\w.()-]{1,200}$/.test(uri.slice(beginning.length))
}

function isAllowedKind(uri: string): boolean {
  // Allow only visible ASCII that browsers do not rewrite, so that browsers use exactly the compared text.
  if (uri.length > maxLength || !/^[!$-;=?-[\]_a-z~]+$/.test(uri) || !URL.canParse(uri)) return false
  const url = new URL(uri)
  if (responseParameters.some((name) => url.searchParams.has(name))) return false
  if (privateUse.test(uri)) return url.username === '' && url.password === '' && url.href === uri
  if (url.username !== '' || url.password !== '' || uri.includes('*')) return false
  if (isLoopbackRedirect(uri)) return isNormalized(withoutPort(uri))
  return url.protocol === 'https:' && plainHost.test(url.hostname) && isNormalized(uri)
}

/** Whether browsers send the same request for both URIs, apart from the port of loopback addresses. */
export function isSameRedirect(registered: string, requested: string): boolean {
  const [one, other] = [registered, requested].map(withPlainOrigin)
  if (one === other) return true
  return isLoopbackRedirect(one) && isLoopbackRedirect(other) && withoutPort(one) === withoutPort(other)
}

/** Normalises a web address: scheme and host in lower case, and the root path as `/`. The rest is unchanged. */
function withPlainOrigin(uri: string): string {
  const [origin] = uri.match(/^https?:\/\/[\w.:[\]-]+(?=[/?]|$)/i) ?? []
  if (origin === undefined) return uri
  const after = uri.slice(origin.length)
  return origin.toLowerCase() + (after.startsWith('/') ? after : `/${after}`)
}

/** Whether the redirect URI is on the user's own computer. */
export function isLoopbackRedirect(uri: string): boolean {
  const port = uri.match(loopback)
  return port !== null && Number(port[1] ?? 80) <= 65_535
}

/** Returns the host to which the user is redirected, or an app's scheme. */
export function redirectHost(uri: string): string {
  const url = new URL(uri)
  return /^https?:$/.test(url.protocol) ? url.host : url.protocol
}

/** Appends response parameters to the redirect URI. Undefined parameters are omitted. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const defined = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(defined)}`
}

function withoutPort(uri: string): string {
  return uri.replace(loopback, (start, port) => port === undefined ? start : start.slice(0, -port.length - 1))
}

function isNormalized(uri: string): boolean {
  return new URL(uri).href === uri
}
