/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { GridError } from '../errors.ts'
import { page } from './layout.tsx'

/** A refusal as a page. */
export function errorPage(error: GridError, status: number): Promise<Response> {
  return page(
    'That did not work',
    <>
      <h1>That did not work</h1>
      <p>{error.message}</p>
      <p>
        <a href='/'>To the start</a>
      </p>
    </>,
    status,
  )
}
