/**
 * Who is at the browser: sessions in the database behind a cookie, and the two proofs that a form is ours.
 * Security: sections 6.1 and 8, O6, O12, O13.
 */
import { createHmac } from 'node:crypto'
import { GridError } from '../errors.ts'
import { newId } from '../lib/id.ts'
import { day, hour, minute } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Membership } from '../store/global/users.ts'
import type { Store } from '../store/store.ts'
import { signInFailed } from './passwords.ts'
import { hashForLookup, isSameSecret, mintLinkToken } from './secrets.ts'

export const sessionIdleMs = 12 * hour
export const sessionLifetimeMs = 14 * day
/** How precise "last seen" is; looking at a page does not become a write each time. */
const seenInterval = minute
const maxUserAgentLength = 200

/** A signed-in person. */
export interface Visitor {
  user: { id: string; email: string; name: string; emailVerifiedAt: number | null }
  sessionId: string
  /** The accounts they belong to now, in the order of joining. */
  accounts: Membership[]
  /** What every form of theirs carries in its field `csrf`. */
  csrf: string
}

/** Somebody at a form before sign-in: the field `csrf`, and the cookie it goes with. */
export interface Stranger {
  csrf: string
  /** `Set-Cookie`, unless the browser has it already. */
  cookie: string | undefined
}

/** A browser that is signed in. Times are milliseconds since the epoch. */
export interface OpenSession {
  id: string
  createdAt: number
  lastSeenAt: number
  expiresAt: number
  /** As the browser names itself. */
  userAgent: string
  address: string
  /** The one of this request. */
  isThis: boolean
}

export interface Sessions {
  /** The signed-in person of a request; undefined when nobody is. */
  visitor(request: Request): Promise<Visitor | undefined>
  /** What a form before sign-in needs. */
  stranger(request: Request): Promise<Stranger>
  /**
   * That a form was sent by a page of ours: its Origin is ours, and its `csrf` belongs to the session or, before
   * sign-in, to the browser. Fails with `forbidden_form`.
   */
  checkForm(request: Request, form: URLSearchParams, visitor: Visitor | undefined): void
  /**
   * Open a session after a proof of who it is; the old one of this browser ends. Resolves to `Set-Cookie`.
   * `passwordHash` is what a password was checked against, if that was the proof: fails with `sign_in_failed` when
   * the person has another one by now, whose choice has just ended their sessions.
   */
  begin(request: Request, userId: string, address: string, passwordHash?: string): Promise<string>
  /** End the session of a request. Resolves to the `Set-Cookie` that removes it. */
  end(request: Request): Promise<string>
  /** The live sessions of a person, the last used first. */
  list(visitor: Visitor): Promise<OpenSession[]>
  /** End one session of a person. Fails with `not_found`. */
  endOne(visitor: Visitor, id: string): Promise<void>
  /** End every session of a person but the one of this request. */
  endOthers(visitor: Visitor): Promise<void>
  /** An account of the person, with their role of now. Fails with `account_not_found`. */
  enter(visitor: Visitor, id: string): AccountStore
}

/** Sessions of the grid that answers on `origins`. */
export function sessions(store: Store, origins: string[]): Sessions {
  const { now, log } = store.deps
  const isSecure = origins.every((origin) => origin.startsWith('https:'))
  const sessionCookie = cookieName('session', isSecure)
  const strangerCookie = cookieName('visit', isSecure)

  function noteSeen(id: string, lastSeenAt: number, at: number): void {
    if (at - lastSeenAt < seenInterval) return
    store.write([store.global.sessions.seen(id, at)])
      .catch((error) => log.warn('The use of a session was not noted', { error }))
  }

  return {
    async visitor(request) {
      const token = cookieOf(request, sessionCookie)
      if (token === undefined) return undefined
      const at = now()
      const session = await store.global.sessions.byToken(hashForLookup(token), at, at - sessionIdleMs)
      if (!session) return undefined
      noteSeen(session.id, session.lastSeenAt, at)
      const accounts = await store.global.users.memberships(session.user.id)
      return { user: session.user, sessionId: session.id, accounts, csrf: formToken(token) }
    },

    async stranger(request) {
      const known = cookieOf(request, strangerCookie)
      const token = known ?? (await mintLinkToken()).token
      return {
        csrf: formToken(token),
        cookie: known === undefined ? setCookie(strangerCookie, token, { isSecure }) : undefined,
      }
    },

    checkForm(request, form, visitor) {
      const { headers } = request
      const token = cookieOf(request, visitor ? sessionCookie : strangerCookie)
      const isOurs = origins.includes(headers.get('origin') ?? '') &&
        ['same-origin', 'none'].includes(headers.get('sec-fetch-site') ?? 'same-origin')
      if (!isOurs || token === undefined || !isSameSecret(form.get('csrf') ?? '', formToken(token))) {
        throw new GridError(
          'forbidden_form',
          'This form has expired or is not ours. Go back, reload the page and try again.',
        )
      }
    },

    async begin(request, userId, address, passwordHash) {
      const { token, hash } = await mintLinkToken()
      const at = now()
      const session = {
        id: newId(),
        userId,
        tokenHash: hash,
        expiresAt: at + sessionLifetimeMs,
        userAgent: (request.headers.get('user-agent') ?? '').slice(0, maxUserAgentLength),
        address,
      }
      const { users } = store.global
      await store.write([
        ...(passwordHash === undefined ? [] : [users.requirePassword(userId, passwordHash)]),
        ...await endOf(store, cookieOf(request, sessionCookie)),
        store.global.sessions.add(session, at),
      ]).catch((error) => {
        throw error instanceof GridError && error.code === 'write_conflict' ? signInFailed() : error
      })
      return setCookie(sessionCookie, token, { isSecure, maxAgeMs: sessionLifetimeMs })
    },

    async end(request) {
      const statements = await endOf(store, cookieOf(request, sessionCookie))
      if (statements.length > 0) await store.write(statements)
      return setCookie(sessionCookie, '', { isSecure, maxAgeMs: 0 })
    },

    async list({ user, sessionId }) {
      const found = await store.global.sessions.ofUser(user.id, now(), now() - sessionIdleMs)
      return found.map((session) => ({ ...session, isThis: session.id === sessionId }))
    },

    async endOne({ user }, id) {
      const [ended] = await store.write([store.global.sessions.end(user.id, id, now())])
      if (ended.length === 0) throw new GridError('not_found', 'This session has ended already, or is not yours.')
    },

    async endOthers({ user, sessionId }) {
      await store.write([store.global.sessions.endOthers(user.id, sessionId, now())])
    },

    enter(visitor, id) {
      const membership = visitor.accounts.find((account) => account.id === id)
      if (!membership) throw new GridError('account_not_found', 'You belong to no such account.')
      const { user, sessionId } = visitor
      return store.account(id, { type: 'user', userId: user.id, role: membership.role, sessionId })
    },
  }
}

/** The statements that end the session of a token, if there is one. */
async function endOf(store: Store, token: string | undefined) {
  if (token === undefined) return []
  const at = store.deps.now()
  const session = await store.global.sessions.byToken(hashForLookup(token), at, at - sessionIdleMs)
  return session ? [store.global.sessions.end(session.user.id, session.id, at)] : []
}

/** What forms carry is made from the cookie, which pages of other sites can neither read nor choose. */
function formToken(cookie: string): string {
  return createHmac('sha256', cookie).update('form').digest('base64url')
}

/** `__Host-` keeps a cookie from being set by another host, but a browser takes it over HTTPS only. @see RFC 6265bis §4.1.3.2 */
function cookieName(name: string, isSecure: boolean): string {
  return `${isSecure ? '__Host-' : ''}grid-${name}`
}

function setCookie(
  name: string,
  value: string,
  { isSecure, maxAgeMs }: { isSecure: boolean; maxAgeMs?: number },
): string {
  const age = maxAgeMs === undefined ? '' : `; Max-Age=${maxAgeMs / 1_000}`
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}${age}`
}

/** A cookie of ours: base62 and nothing else. A name that comes twice was set by somebody else too, and counts as none. */
function cookieOf(request: Request, name: string): string | undefined {
  const values = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1))
  return values.length === 1 && /^[0-9A-Za-z]{43}$/.test(values[0]) ? values[0] : undefined
}
