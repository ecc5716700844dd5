/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { ErrorKind, GridError } from '../errors.ts'
import { ButtonLink } from './form.tsx'
import { barePage } from './layout.tsx'
import { paths } from './paths.ts'

const titles = {
  invalid: 'That could not be understood',
  unauthenticated: 'Please sign in',
  forbidden: 'You may not do that',
  not_found: 'Nothing is here',
  method_not_allowed: 'That does not work here',
  conflict: 'That is taken',
  too_large: 'That is too large',
  unsupported_media: 'That could not be understood',
  misdirected: 'This address is not served here',
  refused: 'A guardrail refused this',
  limited: 'Slow down a little',
  internal: 'Something went wrong here',
  unavailable: 'Not available just now',
} as const satisfies Record<ErrorKind, string>

/** An error as a page, for paths that people open. The sentence is ours, so it may be shown. */
export function errorPage(error: GridError, status: number): Promise<Response> {
  const title = titles[error.kind]
  const isStranger = error.kind === 'unauthenticated'
  return barePage(
    { title, status },
    <>
      <h1>{title}</h1>
      <p>{error.message}</p>
      <p class='soft small'>
        <code>{status} {error.code}</code>
      </p>
      <div class='row'>
        <ButtonLink kind='main-action' href={isStranger ? paths.signIn : paths.home}>
          {isStranger ? 'Sign in' : 'To the start'}
        </ButtonLink>
      </div>
    </>,
  )
}
