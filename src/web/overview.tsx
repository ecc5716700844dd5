/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { page } from '../html/layout.tsx'
import type { Visit } from './visit.ts'

/** What one sees first of an account. */
export function overview({ membership, csrf }: Visit) {
  return page(
    membership.name,
    <>
      <h1>{membership.name}</h1>
      <form method='post' action='/sign-out'>
        <input type='hidden' name='csrf' value={csrf} />
        <button type='submit'>Sign out</button>
      </form>
    </>,
  )
}
