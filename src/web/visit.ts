/** Registration of pages, and what each page gets: the user, the account and the posted form. */
import type { Context, Hono } from 'hono'
import { allows, type Permission, type UserActor } from '../auth/actor.ts'
import type { Visitor } from '../auth/session.ts'
import { type ErrorKind, GridError } from '../errors.ts'
import { recordActivity } from '../grid/activity.ts'
import type { AppFrame } from '../html/frame.tsx'
import type { NavItem } from '../html/paths.ts'
import { readForm } from '../lib/form.ts'
import type { AppEnv } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import { errorHeaders, httpStatus } from '../wire.ts'
import { noticeOf, withNotice } from './notices.ts'
import type { PageDeps } from './page-deps.ts'

/** A request to a page outside accounts. */
export interface PublicVisit {
  request: Request
  requestId: string
  /** The IP address of the client, by which limits count. */
  address: string
  /** The signed-in user, if any. */
  visitor: Visitor | undefined
  /** The value of the field `csrf` in every form of the page. */
  csrf: string
  query: URLSearchParams
  /** The posted form; empty on GET. */
  form: URLSearchParams
  /** Why the posted form was rejected. The page shows it at the field `details.field`. */
  inputError: GridError | undefined
  /** A path parameter by name. */
  param(name: string): string
}

/** A request of a signed-in user to a page of one of their accounts. */
export interface Visit extends PublicVisit {
  visitor: Visitor
  account: AccountStore
  actor: UserActor
  /** The account's name and the user's role in it. */
  membership: Visitor['accounts'][number]
  may(permission: Permission): boolean
  /** The frame of the page, with the notice that `?done=CODE` selects. */
  frame(current: NavItem): AppFrame
  /** The path of a page of this account. */
  path(...parts: string[]): string
  /** Runs a change and records it in the activity log. */
  record<T>(tool: string, input: unknown, run: (account: AccountStore) => Promise<T>): Promise<T>
}

/** The result of a page or an action: a response, or a redirect with an optional `Set-Cookie`. */
export type PageResult = Response | { redirectTo: string; cookie?: string }
type PageHandler<V> = (visit: V) => Promise<PageResult> | PageResult

/**
 * Registers pages. `get` shows one. `post` runs `act`; if the input is rejected and there is a `page`, it shows that page
 * again with `inputError`.
 */
export interface Pages<V> {
  get(path: string, page: PageHandler<V>): void
  post(path: string, act: PageHandler<V>, page?: PageHandler<V>): void
}

/** Pages that do not require a signed-in user. */
export function publicPages(app: Hono<AppEnv>, { store, sessions, address }: PageDeps): Pages<PublicVisit> {
  async function visitOf(c: Context<AppEnv>): Promise<{ visit: PublicVisit; cookie: string | undefined }> {
    const request = c.req.raw
    const visitor = await sessions.visitor(request)
    const anonymous = visitor ? undefined : await sessions.anonymousVisitor(request)
    const visit = {
      request,
      requestId: c.get('requestId'),
      address: address(c),
      visitor,
      csrf: visitor?.csrf ?? anonymous!.csrf,
      query: new URL(request.url).searchParams,
      form: new URLSearchParams(),
      inputError: undefined,
      param: (name: string) => c.req.param(name) ?? '',
    }
    return { visit, cookie: anonymous?.cookie }
  }

  return {
    get(path, page) {
      app.get(path, async (c) => {
        const { visit, cookie } = await visitOf(c)
        return withCookie(asResponse(await page(visit)), cookie)
      })
    },
    post(path, act, page) {
      app.post(path, async (c) => {
        const { visit } = await visitOf(c)
        visit.form = await readForm(store.deps.bodies, visit.request)
        sessions.checkForm(visit.request, visit.form, visit.visitor)
        return await attempt(visit, act, page)
      })
    },
  }
}

/**
 * Pages of an account, below `/accounts/ID`. Without a session they fail with `unauthenticated`; for an account that the
 * user does not belong to, with `account_not_found`; for one that demands a second factor that the user does not have,
 * with `second_factor_required`, unless `withoutSecondFactor` is set.
 */
export function accountPages(
  app: Hono<AppEnv>,
  { store, sessions, address }: PageDeps,
  options: { withoutSecondFactor?: boolean } = {},
): Pages<Visit> {
  async function visitOf(c: Context<AppEnv>): Promise<Visit> {
    const request = c.req.raw
    const visitor = await sessions.visitor(request)
    if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
    const id = c.req.param('account') ?? ''
    const account = sessions.openAccount(visitor, id, options)
    const actor = account.actor as UserActor
    const membership = visitor.accounts.find((membership) => membership.id === id)!
    const { user, accounts, csrf } = visitor
    const query = new URL(request.url).searchParams
    return {
      request,
      requestId: c.get('requestId'),
      address: address(c),
      visitor,
      csrf,
      query,
      form: new URLSearchParams(),
      inputError: undefined,
      param: (name) => c.req.param(name) ?? '',
      account,
      actor,
      membership,
      frame: (current) => ({ account: membership, accounts, user, csrf, current, notice: noticeOf(query) }),
      may: (permission) => allows(actor.role, permission),
      path: (...parts) => ['/accounts', id, ...parts.map(encodeURIComponent)].join('/'),
      record: (tool, input, run) =>
        recordActivity(account, { tool, arguments: input, requestId: c.get('requestId') }, run),
    }
  }

  return {
    get(path, page) {
      app.get(`/accounts/:account${path}`, async (c) => asResponse(await page(await visitOf(c))))
    },
    post(path, act, page) {
      app.post(`/accounts/:account${path}`, async (c) => {
        const visit = await visitOf(c)
        visit.form = await readForm(store.deps.bodies, visit.request)
        sessions.checkForm(visit.request, visit.form, visit.visitor)
        return await attempt(visit, act, page)
      })
    },
  }
}

/** The signed-in user. Fails with `unauthenticated`. */
export function signedIn({ visitor }: PublicVisit): Visitor {
  if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
  return visitor
}

/** The path of the page where users prove again who they are, before the change that `url` is about. */
export function confirmPath({ pathname, search }: URL, method: string): string {
  // A form cannot be repeated by a redirect. Its user comes back to the page that has it.
  const next = method === 'GET' ? pathname + search : withNotice(pathname.split('/').slice(0, 5).join('/'), 'confirmed')
  return `/confirm?next=${encodeURIComponent(next)}`
}

/** The path of the sign-in page that returns to `url` afterwards. */
export function signInPath({ pathname, search }: URL): string {
  return pathname === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(pathname + search)}`
}

/** `next` if it is a path on this origin, otherwise `/`. See docs/security.md, "Forms". */
export function localPath(next: string | null): string {
  const isPath = next !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(next)
  return isPath && new URL(next, 'http://local').origin === 'http://local' ? next : '/'
}

/** Errors that the user can correct in the form. */
const correctable: ErrorKind[] = ['invalid', 'conflict', 'refused', 'unauthenticated', 'limited']

function isCorrectable({ kind, details }: GridError, form: URLSearchParams): boolean {
  // If a form field names something that does not exist, the user can correct it. If the path does, they cannot.
  const isUnknownName = kind === 'not_found' && details.field !== undefined && form.has(details.field)
  return isUnknownName || correctable.includes(kind)
}

async function attempt<V extends PublicVisit>(visit: V, act: PageHandler<V>, page?: PageHandler<V>): Promise<Response> {
  try {
    return asResponse(await act(visit))
  } catch (error) {
    if (!page || !(error instanceof GridError) || !isCorrectable(error, visit.form)) throw error
    const { body, headers } = asResponse(await page({ ...visit, inputError: error }))
    for (const [name, value] of Object.entries(errorHeaders(error))) headers.set(name, value)
    return new Response(body, { status: httpStatus[error.kind], headers })
  }
}

function asResponse(result: PageResult): Response {
  if (result instanceof Response) return result
  const response = new Response(null, { status: 303, headers: { Location: result.redirectTo } })
  return withCookie(response, result.cookie)
}

function withCookie(response: Response, cookie: string | undefined): Response {
  if (cookie !== undefined) response.headers.append('Set-Cookie', cookie)
  return response
}
