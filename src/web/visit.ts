/** Registers pages and provides each with the user, the account and the posted form. */
import type { Context, Hono } from 'hono'
import type { Child } from 'hono/jsx'
import { allows, confirmedForMs, type Permission, requireWholeSession, type UserActor } from '../auth/actor.ts'
import type { Sessions, Visitor } from '../auth/session.ts'
import { GridError } from '../errors.ts'
import { findClaimOffer } from '../grid/accounts/claim.ts'
import { recordActivity } from '../grid/activity.ts'
import { type Condition, findConditions } from '../grid/attention/attention.ts'
import type { Channel } from '../grid/channels/channels.ts'
import { type Question, questionsOf } from '../grid/conversations/questions.ts'
import type { NeedRow } from '../html/attention.tsx'
import type { Asset } from '../html/assets.ts'
import type { AppFrame } from '../html/frame.tsx'
import { type Section, sectionsWith } from '../html/paths.ts'
import { zoneCookie } from '../html/scripts/times.ts'
import { once } from '../lib/lazy.ts'
import { addressOf } from '../lib/http/client-address.ts'
import { cookieOf } from '../lib/http/cookies.ts'
import { readForm } from '../lib/http/form.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { knownZone, utc } from '../lib/time.ts'
import type { AppEnv } from '../request-context.ts'
import type { AccountStore, FeatureCondition } from '../store/account.ts'
import type { Store } from '../store/store.ts'
import type { Phrases } from './accounts/activity-sentences.ts'
import type { AttentionCounts } from './attention/counts.ts'
import { lastChange } from './last-change.ts'
import { type FeatureNotice, type NoticeCode, noticeOf, withNotice } from './notices.ts'
import {
  answerOrWait,
  asResponse,
  type FormVisit,
  isKeptWhole,
  keptFields,
  type PageHandler,
  type PageResult,
  submit,
  withCookie,
} from './refused-form.tsx'

export type { Phrases } from './accounts/activity-sentences.ts'
export type { PageResult } from './refused-form.tsx'

export interface PageDeps {
  store: Store
  sessions: Sessions
  /** The counts shown in the navigation. */
  attention: AttentionCounts
  features: readonly WebFeature[]
}

/** An optional feature's additions to the pages. */
export interface WebFeature {
  readonly pages?: (pages: AccountPages, deps: PageDeps) => void
  readonly publicPages?: (pages: PublicPages, deps: PageDeps) => void
  /** A settings tab: the last part of its path, its title, and more words for the search box. */
  readonly settingsTab?: { name: string; title: string; words: string }
  /** Subjects of the account settings. Each follows the subject with the path `after`. */
  readonly accountSubjects?: readonly (AccountSubject & { after: string })[]
  /** A navigation entry. It follows the section `after`. */
  readonly section?: Section & { after: string }
  /** A script on all account pages. */
  readonly script?: Asset
  /** Cards on core pages. */
  readonly cards?: {
    /** A card on a channel's settings page. */
    readonly channel?: (visit: Visit, channel: Channel) => Promise<Child>
  }
  /** A card on the user's second factor page, with its forms. `show` renders the page that contains it. */
  readonly security?: {
    readonly card: (visit: Visit, deps: PageDeps) => Promise<Child>
    readonly forms: (pages: Pages<Visit>, deps: PageDeps, show: (visit: Visit) => Promise<PageResult>) => void
  }
  readonly signIn?: OtherSignIn
  readonly notices?: readonly FeatureNotice[]
  /** Sentences for the activity log. */
  readonly phrases?: Phrases
  /** Descriptions of the feature's conditions in Attention, by kind. */
  readonly conditions?: Partial<Record<FeatureCondition['kind'], FeatureWords>>
}

/**
 * A subject of the account settings. It has a row with its state in one line, and a page below `/settings/account` that
 * shows refused forms again. Visitors without the permission `may` see neither.
 */
export interface AccountSubject {
  path: string
  title: string
  /** Additional words by which the search box finds the subject. */
  words: string
  may?: Permission
  state(visit: Visit, deps: PageDeps): SubjectState | Promise<SubjectState>
  page(visit: Visit, deps: PageDeps): Child | Promise<Child>
}

interface SubjectState {
  text: string
  /** Whether the state shows a problem. */
  isBad?: boolean
  /** What the visitor can do on the page. */
  link: 'Set up' | 'Change' | 'Open'
}

/** A target of the search box. `path` is relative to the account. `words` find it in addition to its name. */
export interface FixedPlace {
  name: string
  kind: 'page' | 'setting' | 'action'
  path: string
  words?: string
  may?: Permission
}

/** Additional ways to sign in. `next` is the path to open afterwards. */
export interface OtherSignIn {
  /** Returns the buttons on the sign-in page. */
  choices(store: Store, next: string): Promise<Child>
  /** Returns a button with which a signed-in user confirms their identity. Undefined if they cannot use it. */
  proof(store: Store, visit: PublicVisit, next: string): Promise<Child | undefined>
  /** Returns the path for users whose session does not open an account. */
  pathOfAccount(id: string, next: string): string
  /** Returns the path for users who have lost a provider's identity by following an email link. */
  unlinkedPath(next: string): string
}

/** Describes a feature's conditions. Links to their page if the visitor may open it. */
export interface FeatureWords<Facts extends object = object> {
  inWords(of: Facts, now: number): Pick<NeedRow, 'icon' | 'tone' | 'what' | 'facts' | 'at'>
  /** Describes several conditions in one line. */
  many(n: string): string
  href(visit: Visit): string | undefined
}

export interface PublicVisit extends FormVisit {
  requestId: string
  /** The client's IP address, used by rate limits. */
  address: string
  /** The value of the `csrf` field in every form on the page. */
  csrf: string
  query: URLSearchParams
  connection: CallerConnection
  /** Returns a path parameter by name. */
  param(name: string): string
}

export interface Visit extends PublicVisit {
  visitor: Visitor
  account: AccountStore
  actor: UserActor
  /** The account's name and the user's role in it. */
  membership: Visitor['accounts'][number]
  readonly features: readonly WebFeature[]
  /** The user's time zone as reported by their browser. Defaults to UTC. */
  timeZone: string
  may(permission: Permission): boolean
  /** Questions that wait for the user, loaded once for the page and its frame. */
  questions(): Promise<Question[]>
  /** All problems of the account, loaded once for the page and its frame. */
  conditions(): Promise<Condition[]>
  /**
   * Returns the page's frame, with the notice selected by `?done=CODE`. `open` is the number of items for the user, if
   * the page has already counted them.
   */
  frame(current: string, open?: number): AppFrame
  /** Returns the path of a page in this account. */
  path(...parts: string[]): string
  /** Redirects to a page in this account with a notice. */
  done(notice: NoticeCode | FeatureNotice, ...parts: string[]): PageResult
  /** Runs a change and records it in the activity log. */
  record<T>(tool: string, input: unknown, run: (account: AccountStore) => Promise<T>): Promise<T>
  /** Redirects to a page that can read this JSON value once with `takeShown`. */
  showOnce(path: string, secret: unknown): Promise<PageResult>
  /**
   * Returns the value that `showOnce` sent to this page. `shown` if the value was shown before, for example after a
   * reload. Undefined if the page was opened without `showOnce`.
   */
  takeShown<T>(): Promise<T | 'shown' | undefined>
}

/**
 * Registers pages. `get` shows a page. `post` runs `act`. If the input is rejected and there is a `page`, it shows that
 * page again with `inputError`. If the user must first sign in or confirm their identity, the form waits and is then
 * returned to `page`.
 */
export interface Pages<V> {
  get(path: string, page: PageHandler<V>): void
  post(path: string, act: PageHandler<V>, page?: PageHandler<V>): void
}

export interface AccountPages extends Pages<Visit> {
  /**
   * Returns the same methods for forms that need this permission instead of `manage`. The verb enforces the permission.
   * `test/web/roles.test.ts` posts every form with every role and compares the results.
   */
  may(permission: Permission): AccountPages
}

/** A form on account pages, and the permission that it needs. */
export interface FormRoute {
  path: string
  may: Permission
}

/** Pages that do not require a signed-in user. */
export interface PublicPages extends Pages<PublicVisit> {
  /**
   * Registers the page that receives a form while its user signs in or confirms their identity. It must change nothing,
   * because only the form's origin is checked. A complete form of the session may run after the confirmation.
   */
  keep(path: string, page: PageHandler<PublicVisit>): void
}

/** Returns methods that register pages with or without a signed-in user. */
export function publicPages(app: Hono<AppEnv>, { store, sessions }: PageDeps): PublicPages {
  async function visitOf(c: Context<AppEnv>): Promise<{ visit: PublicVisit; cookie: string | undefined }> {
    const request = c.req.raw
    const visitor = await sessions.visitor(request)
    const anonymous = visitor ? undefined : sessions.anonymousVisitor(request)
    const visit = { ...requestedBy(c, store), visitor, csrf: visitor?.csrf ?? anonymous!.csrf }
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
      app.post(path, (c) =>
        answerOrWait(store.deps.bodies, c.req.raw, page !== undefined, async () => {
          const { visit, cookie } = await visitOf(c)
          visit.form = await readForm(store.deps.bodies, visit.request)
          visit.kept = visit.form.get('kept') ?? undefined
          visit.runsUntil = Number(visit.form.get('runsUntil')) || undefined
          return withCookie(await submit(visit, sessions, act, page), cookie)
        }))
    },
    keep(path, page) {
      app.get(path, (c) => asResponse({ redirectTo: localPath(new URL(c.req.url).searchParams.get('next')) }))
      app.post(path, async (c) => {
        const { visit, cookie } = await visitOf(c)
        sessions.checkOrigin(visit.request)
        const form = await readForm(store.deps.bodies, visit.request)
        visit.kept = keptFields(form)
        const mayRun = visit.visitor && sessions.isOfSession(visit.request, form, visit.visitor) && isKeptWhole(form)
        if (mayRun) visit.runsUntil = store.deps.now() + confirmedForMs
        return withCookie(asResponse(await page(visit)), cookie)
      })
    },
  }
}

/**
 * Returns methods that register an account's pages, below `/accounts/ID`. The pages fail with `unauthenticated`, with
 * `account_not_found` if the user does not belong to the account, or with `second_factor_required` if the user lacks a
 * required second factor, unless `withoutSecondFactor` is set. With `isOfUser`, they are about the user in all
 * accounts, and fail with `not_allowed` in a session for a single account. `may` is the forms' default permission. The
 * forms are added to `routes`.
 */
export function accountPages(
  app: Hono<AppEnv>,
  deps: PageDeps,
  options: { withoutSecondFactor?: boolean; isOfUser?: boolean; may?: Permission; routes?: FormRoute[] } = {},
): AccountPages {
  const { store, sessions, attention, features } = deps
  async function visitOf(c: Context<AppEnv>): Promise<Visit & { cookies: string[] }> {
    const request = c.req.raw
    const visitor = await sessions.visitor(request)
    if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
    const id = c.req.param('account') ?? ''
    const account = sessions.openAccount(visitor, id, options)
    if (options.isOfUser) requireWholeSession(visitor)
    c.get('trace').account = account.trace
    const actor = account.actor as UserActor
    const membership = visitor.accounts.find((membership) => membership.id === id)!
    const { user, accounts, csrf } = visitor
    // Read the position first: a later position could skip messages that the page's reads have missed.
    const seq = account.waiting.live.position || undefined
    const questions = once(() => questionsOf(account))
    const conditions = once(() => findConditions(account))
    const findOffer = () => findClaimOffer(store, user)
    const needs = once(() => attention.now({ id, account, questions, conditions, findOffer }))
    // Runs in parallel with the page's reads. Forms are skipped, because they usually redirect without showing a page.
    if (request.method === 'GET') void needs()
    const requested = requestedBy(c, store)
    const { query, requestId } = requested
    const cookies: string[] = []
    const timeZone = zoneOfBrowser(request)
    const path = (...parts: string[]) => ['/accounts', id, ...parts.map(encodeURIComponent)].join('/')
    return {
      ...requested,
      visitor,
      csrf,
      cookies,
      account,
      actor,
      membership,
      features,
      questions,
      conditions,
      lastChange: (fields) => lastChange(account, new URL(request.url).pathname, fields, timeZone),
      frame: (current, open) => ({
        account: membership,
        accounts,
        user,
        csrf,
        sections: sectionsWith(features.flatMap(({ section }) => section ?? [])),
        current,
        seq,
        timeZone,
        scripts: features.flatMap(({ script }) => script?.path ?? []),
        notice: noticeOf(query, features.flatMap(({ notices }) => notices ?? [])),
        needs: needs().then((needs) => needs && { ...needs, open: open ?? needs.open }),
      }),
      timeZone,
      may: (permission) => allows(actor.role, permission),
      path,
      done: (notice, ...parts) => ({ redirectTo: withNotice(path(...parts), notice) }),
      record: (tool, input, run) => recordActivity(account, { tool, arguments: input, requestId }, run),
      showOnce: async (path, secret) => {
        const { id, cookie } = await sessions.keepOnce(request, JSON.stringify(secret))
        return { redirectTo: `${path}?shown=${id}`, cookie }
      },
      takeShown: async () => {
        const id = query.get('shown')
        if (id === null) return undefined
        const taken = await sessions.takeOnce(request, id)
        if (!taken) return 'shown'
        cookies.push(taken.cookie)
        return JSON.parse(taken.secret)
      },
    }
  }

  return {
    get(path, page) {
      app.get(`/accounts/:account${path}`, async (c) => {
        const visit = await visitOf(c)
        return visit.cookies.reduce(withCookie, asResponse(await page(visit)))
      })
    },
    may: (may) => accountPages(app, deps, { ...options, may }),
    post(below, act, page) {
      const path = `/accounts/:account${below}`
      options.routes?.push({ path, may: options.may ?? 'manage' })
      app.post(path, (c) =>
        answerOrWait(store.deps.bodies, c.req.raw, page !== undefined, async () => {
          const visit = await visitOf(c)
          visit.form = await readForm(store.deps.bodies, visit.request)
          return await submit(visit, sessions, act, page)
        }))
    },
  }
}

/** Returns the parts of a visit that do not depend on its user. */
function requestedBy(c: Context<AppEnv>, { deps: { config } }: Store): Omit<PublicVisit, 'visitor' | 'csrf'> {
  return {
    request: c.req.raw,
    trace: c.get('trace'),
    requestId: c.get('trace').requestId,
    address: addressOf(c, config),
    query: new URL(c.req.url).searchParams,
    connection: new CallerConnection(c.req.raw, c.env),
    form: new URLSearchParams(),
    inputError: undefined,
    kept: undefined,
    param: (name) => c.req.param(name) ?? '',
  }
}

/** Returns the time zone in the cookie, which a client can set to anything. See docs/people.md, "Signing in". */
function zoneOfBrowser(request: Request): string {
  return knownZone(cookieOf(request, zoneCookie)) ?? utc
}

/** Returns the signed-in user. Fails with `unauthenticated`. */
export function signedIn({ visitor }: PublicVisit): Visitor {
  if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
  return visitor
}

/** Returns the signed-in user of a session for all their accounts. Fails with `unauthenticated` or `not_allowed`. */
export function wholly(visit: PublicVisit): Visitor {
  const visitor = signedIn(visit)
  requireWholeSession(visitor)
  return visitor
}

/** Returns the path of the page where users confirm their identity before the change at `url`. */
export function confirmPath({ pathname, search }: URL, method: string): string {
  // A redirect cannot repeat a form, so the user returns to the page that contains it.
  const next = method === 'GET' ? pathname + search : withNotice(aboveForm(pathname), 'confirmed')
  return `/confirm?next=${encodeURIComponent(next)}`
}

/** Returns a page that links to the form at this path. */
export function aboveForm(path: string): string {
  return path.split('?')[0].split('/').slice(0, 5).join('/')
}

/** Returns the path of the sign-in page, which leads back to `url`. */
export function signInPath({ pathname, search }: URL): string {
  return pathname === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(pathname + search)}`
}

/** Returns `next` if it is a path on this origin, otherwise `/`. See docs/security.md, "Pages". */
export function localPath(next: string | null): string {
  const isPath = next !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(next)
  return isPath && new URL(next, 'http://local').origin === 'http://local' ? next : '/'
}
