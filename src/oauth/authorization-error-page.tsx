/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { GridError } from '../errors.ts'
import { barePage } from '../html/layout.tsx'
import { errorHeaders, httpStatus } from '../wire.ts'

/** Shows the user why authorization failed. It never redirects to the client. */
export async function authorizationErrorPage(
  error: GridError,
  status: number = httpStatus[error.kind],
): Promise<Response> {
  const response = await barePage(
    { title: 'Authorization failed', status },
    <>
      <h1>Authorization failed</h1>
      <p>{error.message}</p>
      <p class='soft'>
        No access was granted. Go back, or start again from the program that sent you here.
      </p>
    </>,
  )
  for (const [name, value] of Object.entries(errorHeaders(error))) response.headers.set(name, value)
  return response
}
