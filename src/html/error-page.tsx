/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { ErrorKind, GridError } from '../errors.ts'
import { ButtonLink } from './form.tsx'
import { barePage } from './layout.tsx'
import { paths } from './paths.ts'

const titles = {
  invalid: 'Invalid request',
  unauthenticated: 'Please sign in',
  forbidden: 'Not allowed',
  not_found: 'Not found',
  method_not_allowed: 'Method not allowed',
  timeout: 'Too late',
  headers_too_large: 'Too large',
  conflict: 'Conflict',
  too_large: 'Request too large',
  unsupported_media: 'Unsupported format',
  range: 'Not satisfiable',
  misdirected: 'Unknown host',
  refused: 'Refused by a guardrail',
  limited: 'Too many requests',
  internal: 'Something went wrong',
  unavailable: 'Temporarily unavailable',
} as const satisfies Record<ErrorKind, string>

/** An error as an HTML page. The page shows `error.message`: a `GridError` never carries internal details. */
export function errorPage(error: GridError, status: number): Promise<Response> {
  const title = titles[error.kind]
  const isSignedOut = error.kind === 'unauthenticated'
  return barePage(
    { title, status },
    <>
      <h1>{title}</h1>
      <p>{error.message}</p>
      <p class='soft small'>
        <code>{status} {error.code}</code>
      </p>
      <div class='row'>
        <ButtonLink kind='main-action' href={isSignedOut ? paths.signIn : paths.home}>
          {isSignedOut ? 'Sign in' : 'Home'}
        </ButtonLink>
      </div>
    </>,
  )
}
