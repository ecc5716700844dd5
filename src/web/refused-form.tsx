/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Responses to posted forms: refused forms, and forms that wait for a sign-in. See docs/architecture.md, "Pages". */
import type { Sessions, Visitor } from '../auth/session.ts'
import { type ErrorCode, type ErrorKind, GridError } from '../errors.ts'
import { secretFields } from '../html/fields.tsx'
import { downloadsField, HiddenFields } from '../html/form.tsx'
import type { CallTrace } from '../call-trace.ts'
import type { Bodies } from '../lib/http/body.ts'
import { PostedFields, readForm } from '../lib/http/form.ts'
import { hashForLookup } from '../lib/secrets.ts'
import { errorHeaders, httpStatus } from '../wire.ts'
import { checkOutdated, type PostedForm } from './outdated-form.ts'

/**
 * The result of a page or an action: a response, or a redirect with optional `Set-Cookie` headers. `withForm` forwards
 * the form (307).
 */
export type PageResult = Response | { redirectTo: string; cookie?: string | string[]; withForm?: boolean }
export type PageHandler<V> = (visit: V) => Promise<PageResult> | PageResult

export function asResponse(result: PageResult): Response {
  if (result instanceof Response) return result
  const status = result.withForm ? 307 : 303
  const response = new Response(null, { status, headers: { Location: result.redirectTo } })
  return [result.cookie].flat().reduce(withCookie, response)
}

export function withCookie(response: Response, cookie: string | undefined): Response {
  if (cookie !== undefined) response.headers.append('Set-Cookie', cookie)
  return response
}

/** A page request, with its posted form. */
export interface FormVisit {
  request: Request
  trace: CallTrace
  /** The signed-in user, if any. */
  visitor: Visitor | undefined
  /** The posted form. Empty on GET. */
  form: URLSearchParams
  /** Why the form was rejected. The page shows the error at the field `details.field`. */
  inputError: GridError | undefined
  /**
   * The form that waits until the user has signed in or confirmed their identity, as sent by `KeptForm`. Undefined if
   * none waits.
   */
  kept: string | undefined
  /** The time until which the waiting form may run after the confirmation. Undefined if it may not run. */
  runsUntil?: number
  /** @see PostedForm */
  lastChange?: PostedForm['lastChange']
}

const waitingPages: Partial<Record<ErrorCode, string>> = {
  unauthenticated: '/sign-in/form',
  confirmation_required: '/confirm/form',
}

/**
 * Runs `answer`. If the user must first sign in or confirm their identity, and `canWait` is set, forwards the form to
 * the page for this.
 */
export async function answerOrWait(
  bodies: Bodies,
  request: Request,
  canWait: boolean,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    const page = canWait && error instanceof GridError ? waitingPages[error.code] : undefined
    if (page === undefined) throw error
    if (!request.bodyUsed) await readForm(bodies, request)
    const next = encodeURIComponent(new URL(request.url).pathname)
    return asResponse({ redirectTo: `${page}?next=${next}`, withForm: true })
  }
}

/** Errors after which the page shows the form again, so the user can correct it or resubmit it later. */
const correctable: ErrorKind[] = [
  'invalid',
  'conflict',
  'refused',
  'unauthenticated',
  'forbidden',
  'limited',
  'unavailable',
]
/** Errors that lead to another page. */
const notCorrectable: ErrorCode[] = ['confirmation_required', 'second_factor_required', 'forbidden_form']

function isCorrectable({ kind, code, details }: GridError, form: URLSearchParams): boolean {
  // The user can correct an unknown name in a form field, but not in the path.
  const isUnknownName = kind === 'not_found' && details.field !== undefined && form.has(details.field)
  return isUnknownName || (correctable.includes(kind) && !notCorrectable.includes(code))
}

/** Shown above a form that has waited. It is a message, not an error. */
const sendAgain = 'Confirmed. Nothing has changed yet: press the button again to finish.'

/** Whether the page shows a form that has waited, instead of a refused one. */
export function isBack({ inputError }: Pick<FormVisit, 'inputError'>): boolean {
  return inputError?.message === sendAgain
}

/** Runs a form's action. If it is refused and there is a `page`, shows the page again with `inputError`. */
export async function submit<V extends FormVisit>(
  visit: V,
  sessions: Sessions,
  act: PageHandler<V>,
  page?: PageHandler<V>,
): Promise<Response> {
  let waited: string | undefined
  try {
    waited = await takeWaited(visit, sessions)
    if (!waited) sessions.checkForm(visit.request, visit.form, visit.visitor)
    const request = new Request(visit.request.url, { headers: visit.request.headers })
    const show = async () => await page?.({ ...visit, request, form: new URLSearchParams(), inputError: undefined })
    await checkOutdated(visit, show)
    return withCookie(asResponse(await act(visit)), waited)
  } catch (error) {
    if (!page || !(error instanceof GridError) || !isCorrectable(error, visit.form)) throw error
    // A forwarded sign-in or confirmation form contains the form that has waited.
    const back = error.code === 'form_expired' ? keptForm(visit.form) : undefined
    const again = back
      ? { form: back, kept: undefined, inputError: new GridError(error.code, sendAgain) }
      : { inputError: error }
    const shown = asResponse(await pageOr(error, () => page({ ...visit, ...again })))
    const { body, headers } = shown
    if (headers.has('Location')) return shown
    if (!back) visit.trace.refusal(error)
    for (const [name, value] of Object.entries(errorHeaders(error))) headers.set(name, value)
    return withCookie(new Response(body, { status: back ? 200 : httpStatus[error.kind], headers }), waited)
  }
}

/** Shows the page of a refused form again. If that page fails, the original error is reported. */
async function pageOr(refusal: GridError, show: () => Promise<PageResult> | PageResult): Promise<PageResult> {
  try {
    return await show()
  } catch (error) {
    // These errors lead to the page where users sign in or confirm their identity.
    throw error instanceof GridError && waitingPages[error.code] === undefined ? refusal : error
  }
}

/**
 * The query parameter of a form that runs because its user has just confirmed their identity. Only a one-time cookie
 * authorizes the run.
 */
const waitedQuery = 'waited'

/**
 * Allows the waiting form to run once at `path`, in the session started by `begun`. Resolves to the URL and the cookie.
 */
export async function letRun(
  sessions: Sessions,
  { request }: Pick<FormVisit, 'request'>,
  { path, kept, begun }: { path: string; kept: string; begun: string },
): Promise<{ redirectTo: string; cookie: string }> {
  const { id, cookie } = await sessions.keepOnce(
    new Request(request.url, { headers: { Cookie: begun } }),
    hashForLookup(path + kept),
  )
  return { redirectTo: `${path}?${waitedQuery}=${id}`, cookie }
}

/**
 * If `letRun` allowed the form that has waited to run, makes that form the visit's form. Resolves to the `Set-Cookie`
 * that removes the permission. Fails with `forbidden_form`.
 */
async function takeWaited(visit: FormVisit, sessions: Sessions): Promise<string | undefined> {
  const { pathname, searchParams } = new URL(visit.request.url)
  const [id, kept] = [searchParams.get(waitedQuery), visit.form.get('kept')]
  if (id === null || kept === null) return undefined
  sessions.checkOrigin(visit.request)
  const taken = await sessions.takeOnce(visit.request, id)
  if (taken?.secret !== hashForLookup(pathname + kept)) return undefined
  visit.form = keptForm(visit.form)!
  visit.kept = undefined
  return taken.cookie
}

/** Fields that a waiting form omits: values that only the old session knows, and all secrets that a user types. */
const droppedFields: string[] = [...secretFields, 'csrf', 'code', 'passkey', downloadsField]

function isDropped([name, value]: [string, string]): boolean {
  return droppedFields.includes(name) && value !== ''
}

/**
 * Whether the form can run exactly as posted: it has not waited before, and its waiting copy lacks no secret, file or
 * download.
 */
export function isKeptWhole(form: PostedFields): boolean {
  return !form.has('kept') && form.files.length === 0 &&
    ![...form].some((field) => field[0] !== 'csrf' && isDropped(field))
}

/**
 * Returns a posted form's fields as JSON, for the field `kept`. JSON makes the form only slightly longer. A form that
 * already waits is unchanged.
 */
export function keptFields(form: URLSearchParams): string {
  return form.get('kept') ?? JSON.stringify([...form].filter((field) => !isDropped(field)))
}

/**
 * Extracts the form that has waited from the form that contains it. Undefined if there is none. Fails with
 * `invalid_request`.
 */
function keptForm(form: URLSearchParams): PostedFields | undefined {
  const kept = form.get('kept')
  if (kept === null) return undefined
  const fields = jsonOf(kept)
  if (Array.isArray(fields) && fields.every(isField)) return new PostedFields(fields)
  throw new GridError('invalid_request', 'The form that waited was changed. Open its page again.')
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether the value is a pair of name and value. Refuses NUL, because databases truncate text at it. */
function isField(field: unknown): field is [string, string] {
  return Array.isArray(field) && field.length === 2 &&
    field.every((text) => typeof text === 'string' && !text.includes('\0'))
}

/** Hidden fields with which a page's form passes a waiting form on. */
export function KeptForm({ kept, runsUntil }: Pick<FormVisit, 'kept' | 'runsUntil'>) {
  if (kept === undefined) return null
  return <HiddenFields fields={{ kept, ...(runsUntil === undefined ? {} : { runsUntil: `${runsUntil}` }) }} />
}
