/** The cookie of one consent page: two pages in two tabs have two. mcp.md, section 8.4. */

interface Cookie {
  name: string
  value: string
}

const maxAgeSeconds = 600
const prefix = 'grid-consent-'
/** More are not left in a browser. */
const maxCookies = 10

/** `__Host-` wherever browsers take it: not over plain http. */
function fullPrefix(isSecure: boolean): string {
  return isSecure ? `__Host-${prefix}` : prefix
}

/** The name of the cookie that goes with a handle. */
export function consentCookieName(handleHash: string, isSecure: boolean): string {
  return fullPrefix(isSecure) + handleHash.slice(0, 12)
}

/** `Set-Cookie` for a page; without a value it ends. */
export function setConsentCookie(name: string, value: string | undefined, isSecure: boolean): string {
  const flags = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return `${name}=${value ?? ''}; ${flags}; Max-Age=${value === undefined ? 0 : maxAgeSeconds}`
}

/** The value of a cookie of the request. */
export function cookieOf(request: Request, name: string): string | undefined {
  return cookiesOf(request).find((cookie) => cookie.name === name)?.value
}

/** Cookies of pages left open, beyond what a browser should carry. */
export function surplusConsentCookies(request: Request, isSecure: boolean): string[] {
  const open = cookiesOf(request).filter(({ name }) => name.startsWith(fullPrefix(isSecure)))
  return open.slice(0, Math.max(0, open.length - maxCookies + 1)).map(({ name }) => name)
}

function cookiesOf(request: Request): Cookie[] {
  return (request.headers.get('cookie') ?? '').split(';').map((pair) => {
    const at = pair.indexOf('=')
    return { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }
  })
}
