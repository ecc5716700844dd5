/** How a page is asked for: who is there, what they may see, and what their form says. */
import type { Context, Hono } from 'hono'
import { allows, type Permission, type UserActor } from '../auth/actor.ts'
import type { Visitor } from '../auth/session.ts'
import type { AppEnv } from '../edge.ts'
import { type ErrorKind, GridError } from '../errors.ts'
import { recorded } from '../grid/activity.ts'
import type { AppFrame } from '../html/layout.tsx'
import type { NavItem } from '../html/paths.ts'
import { readForm } from '../lib/form.ts'
import type { AccountStore } from '../store/account.ts'
import { errorHeaders, httpStatus } from '../wire.ts'
import { noticeOf } from './notices.ts'
import type { Web } from './web.ts'

/** A request to a page that needs no account. */
export interface OpenVisit {
  request: Request
  requestId: string
  /** The client, as limits count it. */
  address: string
  /** Undefined when nobody is signed in. */
  visitor: Visitor | undefined
  /** What every form of the page carries in its field `csrf`. */
  csrf: string
  query: URLSearchParams
  /** What was posted; empty when the page is only looked at. */
  form: URLSearchParams
  /** Why what was posted is refused; the page says so, beside the field that `details.field` names. */
  fault: GridError | undefined
  /** A part of the path by its name. */
  param(name: string): string
}

/** A request of a signed-in person to a page of one of their accounts. */
export interface Visit extends OpenVisit {
  visitor: Visitor
  account: AccountStore
  actor: UserActor
  /** The account's name and the person's role in it. */
  membership: Visitor['accounts'][number]
  may(permission: Permission): boolean
  /** What stands around the page; `?done=CODE` says what was just done. */
  frame(current: NavItem): AppFrame
  /** The address of a page of this account. */
  path(...parts: string[]): string
  /** Run a verb so that it leaves a row in the activity log. */
  record<T>(tool: string, input: unknown, run: (account: AccountStore) => Promise<T>): Promise<T>
}

/** What a page or an action gives: a response, or a place to go on at. */
export type Answer = Response | { goTo: string; cookie?: string }
type Handler<V> = (visit: V) => Promise<Answer> | Answer

/** Registers pages: `get` shows one; `post` acts, and shows `page` again with the fault when the input is refused. */
export interface Pages<V> {
  get(path: string, page: Handler<V>): void
  post(path: string, act: Handler<V>, page?: Handler<V>): void
}

/** Pages that need nobody to be signed in. */
export function openPages(app: Hono<AppEnv>, { sessions, address }: Web): Pages<OpenVisit> {
  async function visitOf(c: Context<AppEnv>): Promise<{ visit: OpenVisit; cookie: string | undefined }> {
    const request = c.req.raw
    const visitor = await sessions.visitor(request)
    const stranger = visitor ? undefined : await sessions.stranger(request)
    const visit = {
      request,
      requestId: c.get('requestId'),
      address: address(c),
      visitor,
      csrf: visitor?.csrf ?? stranger!.csrf,
      query: new URL(request.url).searchParams,
      form: new URLSearchParams(),
      fault: undefined,
      param: (name: string) => c.req.param(name) ?? '',
    }
    return { visit, cookie: stranger?.cookie }
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
        visit.form = await readForm(visit.request)
        sessions.checkForm(visit.request, visit.form, visit.visitor)
        return await attempt(visit, act, page)
      })
    },
  }
}

/** Pages of an account, below `/accounts/ID`. Who is not signed in is sent to sign in; a foreign account is not found. */
export function accountPages(app: Hono<AppEnv>, { sessions, address }: Web): Pages<Visit> {
  async function visitOf(c: Context<AppEnv>): Promise<Visit> {
    const request = c.req.raw
    const visitor = await sessions.visitor(request)
    if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
    const id = c.req.param('account') ?? ''
    const account = sessions.enter(visitor, id)
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
      fault: undefined,
      param: (name) => c.req.param(name) ?? '',
      account,
      actor,
      membership,
      frame: (current) => ({ account: membership, accounts, user, csrf, current, notice: noticeOf(query) }),
      may: (permission) => allows(actor.role, permission),
      path: (...parts) => ['/accounts', id, ...parts.map(encodeURIComponent)].join('/'),
      record: (tool, input, run) => recorded(account, { tool, arguments: input, requestId: c.get('requestId') }, run),
    }
  }

  return {
    get(path, page) {
      app.get(`/accounts/:account${path}`, async (c) => asResponse(await page(await visitOf(c))))
    },
    post(path, act, page) {
      app.post(`/accounts/:account${path}`, async (c) => {
        const visit = await visitOf(c)
        visit.form = await readForm(visit.request)
        sessions.checkForm(visit.request, visit.form, visit.visitor)
        return await attempt(visit, act, page)
      })
    },
  }
}

/** The signed-in person of a page that needs one, in whatever account. Fails with `unauthenticated`. */
export function signedIn({ visitor }: OpenVisit): Visitor {
  if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
  return visitor
}

/** Where to sign in, and to come back from. */
export function signInPath({ pathname, search }: URL): string {
  return pathname === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(pathname + search)}`
}

/** A path of our own to go on at; `/` for everything else. Security O1. */
export function ownPath(next: string | null): string {
  const isPath = next !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(next)
  return isPath && new URL(next, 'http://own').origin === 'http://own' ? next : '/'
}

/** What whoever filled in the form can repair. */
const repairable: ErrorKind[] = ['invalid', 'conflict', 'refused', 'unauthenticated', 'limited']

function isRepairable({ kind, details }: GridError, form: URLSearchParams): boolean {
  // A field that names what is not there can be filled in anew; a path that does cannot.
  const isMisnamed = kind === 'not_found' && details.field !== undefined && form.has(details.field)
  return isMisnamed || repairable.includes(kind)
}

async function attempt<V extends OpenVisit>(visit: V, act: Handler<V>, page?: Handler<V>): Promise<Response> {
  try {
    return asResponse(await act(visit))
  } catch (error) {
    if (!page || !(error instanceof GridError) || !isRepairable(error, visit.form)) throw error
    const { body, headers } = asResponse(await page({ ...visit, fault: error }))
    for (const [name, value] of Object.entries(errorHeaders(error))) headers.set(name, value)
    return new Response(body, { status: httpStatus[error.kind], headers })
  }
}

function asResponse(answer: Answer): Response {
  if (answer instanceof Response) return answer
  const response = new Response(null, { status: 303, headers: { Location: answer.goTo } })
  return withCookie(response, answer.cookie)
}

function withCookie(response: Response, cookie: string | undefined): Response {
  if (cookie !== undefined) response.headers.append('Set-Cookie', cookie)
  return response
}
