/** The grid's cookies. See docs/people.md, "Signing in". */
import { parse, serialize } from 'hono/utils/cookie'
import { second } from '../time.ts'

/**
 * Returns the full name. `__Host-` requires HTTPS, and prevents other hosts from setting it. @see RFC 6265bis §4.1.3.2
 */
export function cookieName(name: string, isSecure: boolean): string {
  return `${isSecure ? '__Host-' : ''}grid-${name}`
}

/** Returns `Set-Cookie` for a cookie hidden from scripts and from other sites' forms. A `maxAgeMs` of 0 removes it. */
export function serializeCookie(
  name: string,
  value: string,
  { isSecure, maxAgeMs }: { isSecure: boolean; maxAgeMs?: number },
): string {
  const maxAge = maxAgeMs === undefined ? undefined : maxAgeMs / second
  return serialize(name, value, { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure, maxAge })
}

/** Returns the value of a request's cookie. If the name occurs twice, returns the first value. */
export function cookieOf(request: Request, name: string): string | undefined {
  return parse(request.headers.get('cookie') ?? '', name)[name]
}

export function cookieNames(request: Request): string[] {
  return Object.keys(parse(request.headers.get('cookie') ?? ''))
}

/**
 * Returns the value of a cookie that consists of 43 base62 characters. Undefined if the name occurs twice, because
 * another site or process must have set one of the cookies.
 */
export function secretCookieOf(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get('cookie') ?? '').split(';')
  const values = pairs.flatMap((pair) => parse(pair, name)[name] ?? [])
  return values.length === 1 && /^[0-9A-Za-z]{43}$/.test(values[0]) ? values[0] : undefined
}
