/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { GridError } from '../errors.ts'
import { barePage } from '../html/layout.tsx'
import { errorHeaders, httpStatus } from '../wire.ts'

/** Why a login ends here. It never leads back to the client. */
export async function refusalPage(error: GridError, status: number = httpStatus[error.kind]): Promise<Response> {
  const response = await barePage(
    { title: 'Sign-in refused', status },
    <>
      <h1>This sign-in cannot go on</h1>
      <p>{error.message}</p>
      <p class='soft'>
        Nothing was granted. Go back to the page before, or start again from the program that sent you here.
      </p>
    </>,
  )
  for (const [name, value] of Object.entries(errorHeaders(error))) response.headers.set(name, value)
  return response
}
