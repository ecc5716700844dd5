/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { GridError } from '../errors.ts'
import { ButtonLink } from '../html/form.tsx'
import { barePage } from '../html/layout.tsx'
import { errorHeaders, httpStatus } from '../wire.ts'
import { redirectHost } from './redirect-uri.ts'

/**
 * Shows the user why authorization failed. It never redirects to the client. With `returnTo`, the address that reports
 * the error to the client, the user can go there by a click; the host of the address is shown.
 */
export async function authorizationErrorPage(
  error: GridError,
  { status = httpStatus[error.kind], returnTo }: { status?: number; returnTo?: string } = {},
): Promise<Response> {
  const response = await barePage(
    { title: 'Authorization failed', status },
    <>
      <h1>Authorization failed</h1>
      <p>{error.message}</p>
      <p class='soft'>
        No access was granted. Go back, or start again from the program that sent you here.
      </p>
      {returnTo !== undefined && (
        <>
          <p>
            The program can be told at{' '}
            <strong>{redirectHost(returnTo)}</strong>. This grid does not know that address: you have not allowed the
            program anything.
          </p>
          <ButtonLink href={returnTo}>Go to {redirectHost(returnTo)}</ButtonLink>
        </>
      )}
    </>,
  )
  for (const [name, value] of Object.entries(errorHeaders(error))) response.headers.set(name, value)
  return response
}
