/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { ErrorKind, GridError } from '../errors.ts'
import { Name } from './bidi.tsx'
import { Card } from './components.tsx'
import { ButtonLink } from './form.tsx'
import type { AppFrame } from './frame.tsx'
import { appPage, barePage } from './layout.tsx'
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

export interface ErrorFrame {
  frame: AppFrame
  /** The page to continue with. */
  next: { title: string; href: string }
  /** The names of some members who have the required permission. */
  allowed: string[]
}

/**
 * Renders an error as an HTML page, inside the application for signed-in users. The page contains `error.message`,
 * because a `GridError` never reveals internal details.
 */
export function errorPage(error: GridError, status: number, inside?: ErrorFrame): Promise<Response> {
  const title = error.code === 'link_expired' ? 'This link no longer works' : titles[error.kind]
  const code = (
    <p class='soft small'>
      <code>{status} {error.code}</code>
    </p>
  )
  if (inside) {
    const { frame, next, allowed } = inside
    return appPage(
      frame,
      { title, status },
      <Card>
        <p>{error.message}</p>
        {allowed.length > 0 && (
          <p>
            Your role here is {frame.account.role}. You can ask {allowed.map((name, n) => (
              <>
                {n > 0 && (n === allowed.length - 1 ? ' or ' : ', ')}
                <strong>
                  <Name text={name} />
                </strong>
              </>
            ))}.
          </p>
        )}
        {code}
        <div class='row'>
          <ButtonLink kind='main-action' href={next.href}>{next.title}</ButtonLink>
        </div>
      </Card>,
    )
  }
  const isSignedOut = error.kind === 'unauthenticated'
  return barePage(
    { title, status },
    <>
      <h1>{title}</h1>
      <p>{error.message}</p>
      {code}
      <div class='row'>
        <ButtonLink kind='main-action' href={isSignedOut ? paths.signIn : paths.home}>
          {isSignedOut ? 'Sign in' : 'Home'}
        </ButtonLink>
      </div>
    </>,
  )
}
