/**
 * The cookie that binds a consent page to its browser. Each open page has its own, so two tabs do not interfere.
 * See docs/protocol.md, "Consent page".
 */
import { parse, serialize } from 'hono/utils/cookie'

const maxAgeSeconds = 600
const prefix = 'grid-consent-'
/** How many consent cookies a browser keeps. */
const maxCookies = 10

/** `__Host-` over HTTPS only: browsers reject it over plain HTTP. */
function fullPrefix(isSecure: boolean): string {
  return isSecure ? `__Host-${prefix}` : prefix
}

/** The name of the cookie that belongs to a handle. */
export function consentCookieName(handleHash: string, isSecure: boolean): string {
  return fullPrefix(isSecure) + handleHash.slice(0, 12)
}

/** `Set-Cookie` for a consent page; without a value it removes the cookie. */
export function setConsentCookie(name: string, value: string | undefined, isSecure: boolean): string {
  const maxAge = value === undefined ? 0 : maxAgeSeconds
  return serialize(name, value ?? '', { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure, maxAge })
}

/** The value of a cookie of the request. */
export function cookieOf(request: Request, name: string): string | undefined {
  return parse(request.headers.get('cookie') ?? '', name)[name]
}

/** The consent cookies to remove, so that with one more the browser has at most `maxCookies`. */
export function surplusConsentCookies(request: Request, isSecure: boolean): string[] {
  const names = Object.keys(parse(request.headers.get('cookie') ?? ''))
    .filter((name) => name.startsWith(fullPrefix(isSecure)))
  return names.slice(0, Math.max(0, names.length - maxCookies + 1))
}
