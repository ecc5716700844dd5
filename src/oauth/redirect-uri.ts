/** Redirect URIs: which may be registered, and which requested one is a registered one. mcp.md, section 8.2. */

const maxLength = 2_000
/** The port alone may differ from login to login. @see RFC 8252 §7.3 */
const loopback = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?(?=[/?]|$)/
/** A scheme of an app's own has a dot, as a domain turned round has. @see RFC 8252 §7.1 */
const privateUse = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/(?!\/*$)/
/** Parsers take more for a host, also `;` and `,`, which begin something new in the policy of the consent page. */
const plainHost = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/
/** What we add ourselves may not be there before. */
const ourParameters = ['code', 'error', 'error_description', 'iss', 'state']

/**
 * Whether a redirect URI is of an allowed kind: https, http on a loopback address, a private-use scheme with a
 * dot, or one of `allow` exactly. Never with a fragment, a user, a wildcard, or in a spelling that readers could
 * read in two ways.
 */
export function isAllowedRedirect(uri: string, allow: readonly string[]): boolean {
  if (allow.includes(uri)) return true
  // Visible ASCII without what browsers repair: the string that is compared is the one that is followed.
  if (uri.length > maxLength || !/^[!$-;=?-[\]_a-z~]+$/.test(uri) || !URL.canParse(uri)) return false
  const url = new URL(uri)
  if (ourParameters.some((name) => url.searchParams.has(name))) return false
  if (privateUse.test(uri)) return url.username === '' && url.password === '' && url.href === uri
  if (url.username !== '' || url.password !== '' || uri.includes('*')) return false
  if (isLoopbackRedirect(uri)) return isNormal(withoutPort(uri))
  return url.protocol === 'https:' && plainHost.test(url.hostname) && isNormal(uri)
}

/** Whether `requested` is the `registered` one: to the letter, but for the port of a loopback address. */
export function isSameRedirect(registered: string, requested: string): boolean {
  if (registered === requested) return true
  return isLoopbackRedirect(registered) && isLoopbackRedirect(requested) &&
    withoutPort(registered) === withoutPort(requested)
}

/** Whether it leads to the person's own computer. */
export function isLoopbackRedirect(uri: string): boolean {
  const port = uri.match(loopback)
  return port !== null && Number(port[1] ?? 80) <= 65_535
}

/** Whom the person is sent to: the host, or the scheme of an app. */
export function redirectHost(uri: string): string {
  const url = new URL(uri)
  return /^https?:$/.test(url.protocol) ? url.host : url.protocol
}

/** The redirect URI with the parameters of an answer; undefined ones are left out. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}

function withoutPort(uri: string): string {
  return uri.replace(loopback, (start, port) => port === undefined ? start : start.slice(0, -port.length - 1))
}

function isNormal(uri: string): boolean {
  const { href } = new URL(uri)
  return href === uri || (href === `${uri}/` && !uri.endsWith('/'))
}
