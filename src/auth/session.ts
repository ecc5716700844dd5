/**
 * Browser sessions and CSRF protection of forms. A cookie identifies a session stored in the database. See
 * docs/people.md, "Signing in", and docs/security.md, "Pages".
 */
import { GridError, isStorageFull } from '../errors.ts'
import { cookieName, cookieOf, secretCookieOf, serializeCookie } from '../lib/http/cookies.ts'
import { isId, newId } from '../lib/id.ts'
import { hashForLookup, isSameSecret, mintLinkToken } from '../lib/secrets.ts'
import { day, hour, minute } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Identity } from '../store/global/identities.ts'
import type { ListedSession } from '../store/global/sessions.ts'
import type { Membership } from '../store/global/users.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { allows, opensAccount } from './actor.ts'
import { signInFailed } from './passwords.ts'
import { formToken, ringKeyId, ringOf } from './session-secrets.ts'

export const sessionIdleMs = 12 * hour
export const sessionLifetimeMs = 14 * day
/** Precision of "last seen". It avoids a database write on every page view. */
const lastSeenPrecisionMs = minute
const maxUserAgentLength = 200
/** Time limit for entering the second factor. */
const halfSessionMs = 15 * minute
/** Marks requests that a page sends on its own. They do not extend the session. */
const bySelfHeader = 'x-by-itself'
/** How long a secret is available to the page that shows it. */
const oneTimeCookieMs = 5 * minute

export interface SessionUser {
  id: string
  email: string
  name: string
  emailVerifiedAt: number | null
  /** Whether the user has a passkey or an authenticator app. */
  hasSecondFactor: boolean
  /** Whether pages react to single-key shortcuts. */
  shortcuts: boolean
}

export interface Visitor {
  user: SessionUser
  sessionId: string
  /** When the user last proved their identity, in ms since the epoch. Null if an older version started the session. */
  confirmedAt: number | null
  /** The user's current memberships that this session can open, in the order in which the user joined. */
  accounts: Membership[]
  /** The ids of the user's other accounts, which require a different sign-in. */
  closed: string[]
  /** Deleted accounts that the user owns and can restore. */
  deleted: Membership[]
  /** The only account that the session can open, because that account's provider signed the user in. */
  onlyAccount: string | null
  /** The provider identity that started the session. */
  identity: Identity | null
  /** The CSRF token: the value of the field `csrf` in all forms of this session. */
  csrf: string
}

/** CSRF protection for a form before sign-in: the value of the field `csrf` and the cookie it is derived from. */
interface AnonymousVisitor {
  csrf: string
  /** The `Set-Cookie` header. Undefined if the browser already has the cookie. */
  cookie: string | undefined
}

export interface ActiveSession extends ListedSession {
  isCurrent: boolean
}

/** How a user proved their identity. */
export interface Proof {
  /** The hash that the password was verified against. */
  passwordHash?: string
  /** Whether the user used a passkey or a code, or the previous session started with one. */
  hasSecondFactor?: boolean
  /** When the user proved their identity. Defaults to now. A session that continues another one passes the old time. */
  confirmedAt?: number | null
  /** The account whose provider signed the user in. The session cannot open other accounts. */
  onlyAccount?: string | null
  /** The identity at that provider. It must still belong to the user. */
  identity?: Identity | null
}

export type Sessions = ReturnType<typeof createSessions>

/**
 * Manages the sessions of a grid with these `origins`. Cookies are `Secure` if `APP_URL` is HTTPS, regardless of the
 * other origins, because people sign in at `APP_URL`.
 */
export function createSessions(store: Store, origins: string[]) {
  const { now, log, config } = store.deps
  const isSecure = config.appUrl.startsWith('https:')
  const sessionCookie = cookieName('session', isSecure)
  const anonymousCookie = cookieName('visit', isSecure)
  const oneTimeCookie = cookieName('once', isSecure)

  /** Returns a request's live session, even if the second factor is missing. */
  async function sessionOf(request: Request) {
    const token = secretCookieOf(request, sessionCookie)
    if (token === undefined) return undefined
    const session = await store.global.sessions.byToken(hashForLookup(token), now(), now() - sessionIdleMs)
    return session && { ...session, token }
  }

  async function membershipsOf(request: Request): Promise<Membership[]> {
    const token = secretCookieOf(request, sessionCookie)
    if (token === undefined) return []
    return await store.global.users.membershipsOfSession(hashForLookup(token), now(), now() - sessionIdleMs)
  }

  /** Returns the statements that end a request's live session. Empty if there is no such session. */
  async function endSession(request: Request): Promise<Statement[]> {
    const session = await sessionOf(request)
    return session ? [store.global.sessions.end(session.user.id, session.id, now())] : []
  }

  function recordLastSeen(id: string, lastSeenAt: number): void {
    const at = now()
    if (at - lastSeenAt < lastSeenPrecisionMs) return
    store.write([store.global.sessions.markSeen(id, at)])
      .catch((error) => {
        if (!isStorageFull(error)) log.warn('Could not record the use of a session', { error })
      })
  }

  /** Checks only that a page of the grid sent the form. Fails with `forbidden_form`. */
  function checkOrigin({ headers }: Request): void {
    const isSameOrigin = origins.includes(headers.get('origin') ?? '') &&
      ['same-origin', 'none'].includes(headers.get('sec-fetch-site') ?? 'same-origin')
    if (isSameOrigin) return
    throw new GridError('forbidden_form', 'This form was sent by another site. Open the page here and try again.')
  }

  /** Whether the form's `csrf` belongs to the session or, before sign-in, to the browser. */
  function isOfSession(request: Request, form: URLSearchParams, visitor: Visitor | undefined): boolean {
    const token = secretCookieOf(request, visitor ? sessionCookie : anonymousCookie)
    return token !== undefined && isSameSecret(form.get('csrf') ?? '', formToken(token))
  }

  return {
    checkOrigin,
    isOfSession,

    /**
     * Returns a request's signed-in user. Undefined without a live session, or while the second factor is missing. With
     * `isQuiet`, which is the default for requests that a page sends on its own, the session does not count as used.
     */
    async visitor(
      request: Request,
      { isQuiet = request.headers.has(bySelfHeader) }: { isQuiet?: boolean } = {},
    ): Promise<Visitor | undefined> {
      // Run both reads in parallel. See docs/architecture.md, "Pages".
      const [session, all] = await Promise.all([sessionOf(request), membershipsOf(request)])
      if (!session || session.awaitsSecondFactor) return undefined
      const { user, id: sessionId, confirmedAt, onlyAccount, identity, token } = session
      if (!isQuiet) recordLastSeen(sessionId, session.lastSeenAt)
      const kept = all.filter(({ deletedAt }) => deletedAt === null)
      const accounts = kept.filter((account) => opensAccount(session, account))
      const closed = kept.filter((account) => !accounts.includes(account)).map(({ id }) => id)
      const deleted = all.filter(({ deletedAt, role }) => deletedAt !== null && allows(role, 'own'))
      return { user, sessionId, confirmedAt, onlyAccount, identity, accounts, closed, deleted, csrf: formToken(token) }
    },

    /** Returns the user of a session without the required second factor. */
    async halfVisitor(request: Request): Promise<SessionUser | undefined> {
      const session = await sessionOf(request)
      return session?.awaitsSecondFactor ? session.user : undefined
    },

    anonymousVisitor(request: Request): AnonymousVisitor {
      const known = secretCookieOf(request, anonymousCookie)
      const token = known ?? mintLinkToken().token
      return {
        csrf: formToken(token),
        cookie: known === undefined ? serializeCookie(anonymousCookie, token, { isSecure }) : undefined,
      }
    },

    /**
     * Checks that a page of the grid sent the form: the `Origin` belongs to the grid, and `csrf` to the session or,
     * before sign-in, to the browser. Fails with `forbidden_form`, or with `form_expired` if the form belongs to
     * another session, for example after a sign-in in another tab.
     */
    checkForm(request: Request, form: URLSearchParams, visitor: Visitor | undefined): void {
      checkOrigin(request)
      if (!isOfSession(request, form, visitor)) {
        throw new GridError(
          'form_expired',
          'You have signed in or out since this form was opened. Check what you entered, and send it again.',
        )
      }
    },

    /**
     * Stores a secret for the session's next page in a cookie, for at most five minutes. The cookie is sealed for this
     * session, so that neither another session nor a reader of the cookie file can use it. See docs/security.md, "Keys
     * and tokens".
     */
    async keepOnce(request: Request, secret: string): Promise<{ id: string; cookie: string }> {
      const id = newId()
      const ring = ringOf(secretCookieOf(request, sessionCookie))
      const { encryptedToken, tokenIv, tokenAuthTag } = await ring.seal(secret, id)
      const cookie = serializeCookie(`${oneTimeCookie}-${id}`, [encryptedToken, tokenIv, tokenAuthTag].join('.'), {
        isSecure,
        maxAgeMs: oneTimeCookieMs,
      })
      return { id, cookie }
    },

    /**
     * Returns the stored secret and the `Set-Cookie` header that removes it. Undefined if it was taken or has expired.
     */
    async takeOnce(request: Request, id: string): Promise<{ secret: string; cookie: string } | undefined> {
      if (!isId(id)) return undefined
      const name = `${oneTimeCookie}-${id}`
      const sealed = cookieOf(request, name)
      if (sealed === undefined) return undefined
      const [encryptedToken, tokenIv, tokenAuthTag] = sealed.split('.')
      try {
        const ring = ringOf(secretCookieOf(request, sessionCookie))
        const secret = await ring.open({ encryptedToken, tokenIv, tokenAuthTag, tokenKeyId: ringKeyId }, id)
        return { secret, cookie: serializeCookie(name, '', { isSecure, maxAgeMs: 0 }) }
      } catch {
        return undefined
      }
    },

    /**
     * Starts a session for an authenticated user and ends the browser's previous one. Resolves to the `Set-Cookie`
     * header. If the user has a second factor, a session without `hasSecondFactor` is only half signed in. Fails with
     * `sign_in_failed` if `passwordHash` or `identity` no longer belongs to the user.
     */
    async begin(
      request: Request,
      userId: string,
      address: string,
      { passwordHash, hasSecondFactor = false, ...proof }: Proof = {},
    ): Promise<string> {
      const { token, hash } = mintLinkToken()
      const at = now()
      const { confirmedAt = at, onlyAccount = null, identity = null } = proof
      const session = {
        id: newId(),
        userId,
        tokenHash: hash,
        expiresAt: at + sessionLifetimeMs,
        halfExpiresAt: at + halfSessionMs,
        hasSecondFactor,
        confirmedAt,
        onlyAccount,
        identity,
        userAgent: (request.headers.get('user-agent') ?? '').slice(0, maxUserAgentLength),
        address,
      }
      const { identities, users } = store.global
      await store.write([
        ...(passwordHash === undefined ? [] : [users.requirePassword(userId, passwordHash)]),
        ...(identity === null ? [] : [identities.requireOfUser(userId, identity)]),
        ...await endSession(request),
        store.global.sessions.add(session, at),
      ]).catch((error) => {
        throw error instanceof GridError && error.code === 'write_conflict' ? signInFailed() : error
      })
      return serializeCookie(sessionCookie, token, { isSecure, maxAgeMs: sessionLifetimeMs })
    },

    /** Ends a request's session. Resolves to the `Set-Cookie` header that removes its cookie. */
    async end(request: Request): Promise<string> {
      const statements = await endSession(request)
      if (statements.length > 0) await store.write(statements)
      return serializeCookie(sessionCookie, '', { isSecure, maxAgeMs: 0 })
    },

    /** Lists the user's live sessions. The most recently used session comes first. */
    async list({ user, sessionId }: Visitor): Promise<ActiveSession[]> {
      const found = await store.global.sessions.ofUser(user.id, now(), now() - sessionIdleMs)
      return found.map((session) => ({ ...session, isCurrent: session.id === sessionId }))
    },

    /** Ends one of the user's sessions. Fails with `not_found`. */
    async endOne({ user }: Visitor, id: string): Promise<void> {
      const [ended] = await store.write([store.global.sessions.end(user.id, id, now())])
      if (ended.length === 0) throw new GridError('not_found', 'This session has already ended or is not yours.')
    },

    async endOthers({ user, sessionId }: Visitor): Promise<void> {
      await store.write([store.global.sessions.endOthers(user.id, sessionId, now())])
    },

    /**
     * Returns the store of one of the user's accounts, with the user's current role as actor. Fails with
     * `account_not_found`, with `other_sign_in_required` if this session cannot open the account, or with
     * `second_factor_required` if the user lacks a second factor that the account requires. `withoutSecondFactor` is
     * for the pages where users add a second factor.
     */
    openAccount(
      visitor: Visitor,
      id: string,
      { withoutSecondFactor = false }: { withoutSecondFactor?: boolean } = {},
    ): AccountStore {
      const membership = visitor.accounts.find((account) => account.id === id)
      if (visitor.closed.includes(id)) {
        throw new GridError('other_sign_in_required', 'This account requires its own sign-in.')
      }
      if (!membership) {
        throw new GridError(
          'account_not_found',
          'You are not a member of this account. Its owners and admins can invite you.',
        )
      }
      const { user, sessionId, confirmedAt } = visitor
      const { role, requiresSecondFactor } = membership
      const hasSecondFactor = user.hasSecondFactor || visitor.onlyAccount !== null
      if (!withoutSecondFactor && requiresSecondFactor && allows(role, 'manage') && !hasSecondFactor) {
        throw new GridError(
          'second_factor_required',
          'This account requires a second factor of its owners and admins. Add a passkey or an authenticator app first.',
        )
      }
      return store.account(id, { type: 'user', userId: user.id, role, sessionId, confirmedAt })
    },

    /** Returns the store of a deleted account that the user owns. Fails with `not_found`. */
    openDeleted({ user, sessionId, confirmedAt, deleted }: Visitor, id: string): AccountStore {
      const membership = deleted.find((account) => account.id === id)
      if (!membership) throw new GridError('not_found', 'You own no deleted account with this id.')
      return store.account(id, { type: 'user', userId: user.id, role: membership.role, sessionId, confirmedAt })
    },
  }
}
