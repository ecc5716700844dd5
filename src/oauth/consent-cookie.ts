/**
 * The cookie that binds a consent page to its browser. Each open page has its own, so two tabs do not interfere.
 * See docs/protocol.md, "Consent page".
 */
import { cookieName, cookieNames, serializeCookie } from '../lib/http/cookies.ts'
import { minute } from '../lib/time.ts'

const lifetimeMs = 10 * minute
const prefix = 'consent-'
/** How many consent cookies a browser keeps. */
const maxCookies = 10

/** The name of the cookie that belongs to a handle. */
export function consentCookieName(handleHash: string, isSecure: boolean): string {
  return cookieName(prefix + handleHash.slice(0, 12), isSecure)
}

/** `Set-Cookie` for a consent page; without a value it removes the cookie. */
export function setConsentCookie(name: string, value: string | undefined, isSecure: boolean): string {
  return serializeCookie(name, value ?? '', { isSecure, maxAgeMs: value === undefined ? 0 : lifetimeMs })
}

/** The consent cookies to remove, so that with one more the browser has at most `maxCookies`. */
export function surplusConsentCookies(request: Request, isSecure: boolean): string[] {
  const names = cookieNames(request).filter((name) => name.startsWith(cookieName(prefix, isSecure)))
  return names.slice(0, Math.max(0, names.length - maxCookies + 1))
}
