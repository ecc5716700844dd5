/** Forms that are refused, and those that wait until their user has signed in. See docs/architecture.md, "Forms that wait". */
import type { Sessions, Visitor } from '../auth/session.ts'
import { type ErrorCode, type ErrorKind, GridError } from '../errors.ts'
import type { Bodies } from '../lib/http/body.ts'
import { readForm } from '../lib/http/form.ts'
import { errorHeaders, httpStatus } from '../wire.ts'
import { keptForm } from './kept-form.tsx'
import { asResponse, type PageHandler, type PageResult } from './page-result.ts'

/** What a request to a page knows of its form. */
export interface FormVisit {
  request: Request
  /** The signed-in user, if any. */
  visitor: Visitor | undefined
  /** The posted form; empty on GET. */
  form: URLSearchParams
  /** Why the posted form was rejected. The page shows it at the field `details.field`. */
  inputError: GridError | undefined
  /**
   * The form that waits until the user has signed in or proved who they are, as `KeptForm` passes it on; undefined if
   * none does.
   */
  kept: string | undefined
}

/** Where a form waits for each error. */
const waitingPages: Partial<Record<ErrorCode, string>> = {
  unauthenticated: '/sign-in/form',
  confirmation_required: '/confirm/form',
}

/**
 * Runs `answer`. A form whose page can show it again is sent on to the page where the user signs in or proves who they
 * are, if that must come first.
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

/** Errors after which the page shows the form again: the user corrects it, or sends it again later. */
const correctable: ErrorKind[] = [
  'invalid',
  'conflict',
  'refused',
  'unauthenticated',
  'forbidden',
  'limited',
  'unavailable',
]
/** They lead to another page. */
const notCorrectable: ErrorCode[] = ['confirmation_required', 'second_factor_required', 'forbidden_form']

function isCorrectable({ kind, code, details }: GridError, form: URLSearchParams): boolean {
  // If a form field names something that does not exist, the user can correct it. If the path does, they cannot.
  const isUnknownName = kind === 'not_found' && details.field !== undefined && form.has(details.field)
  return isUnknownName || (correctable.includes(kind) && !notCorrectable.includes(code))
}

const sendAgain = 'Thank you. Nothing has changed yet: check what you entered, and send it again.'

/** Runs the action of a form. If it is refused and there is a `page`, that page is shown again with `inputError`. */
export async function submit<V extends FormVisit>(
  visit: V,
  sessions: Sessions,
  act: PageHandler<V>,
  page?: PageHandler<V>,
): Promise<Response> {
  try {
    sessions.checkForm(visit.request, visit.form, visit.visitor)
    return asResponse(await act(visit))
  } catch (error) {
    if (!page || !(error instanceof GridError) || !isCorrectable(error, visit.form)) throw error
    // A form that has waited comes back inside the form that ended the wait.
    const waited = error.code === 'form_expired' ? keptForm(visit.form) : undefined
    const again = waited
      ? { form: waited, kept: undefined, inputError: new GridError(error.code, sendAgain) }
      : { inputError: error }
    const shown = asResponse(await pageOr(error, () => page({ ...visit, ...again })))
    const { body, headers } = shown
    if (headers.has('Location')) return shown
    for (const [name, value] of Object.entries(errorHeaders(error))) headers.set(name, value)
    return new Response(body, { status: waited ? 200 : httpStatus[error.kind], headers })
  }
}

/** The page that shows a refused form again. If it cannot be shown, the reason is still why the form was refused. */
async function pageOr(refusal: GridError, show: () => Promise<PageResult> | PageResult): Promise<PageResult> {
  try {
    return await show()
  } catch (error) {
    // The user must sign in or confirm first.
    throw error instanceof GridError && waitingPages[error.code] === undefined ? refusal : error
  }
}
