/** Session cookies. See docs/people.md, "Signing in". */
import { expect, test } from 'vitest'
import { secretCookieOf } from '../../../src/lib/http/cookies.ts'

const secret = 'a'.repeat(43)
const other = 'b'.repeat(43)

test.each([
  [`grid-session=${secret}`, secret],
  [`x=1; grid-session=${secret}`, secret],
  // Another site or process must have set one of the two cookies, so neither counts.
  [`grid-session=${secret}; grid-session=${other}`, undefined],
  [`grid-session=${secret}; grid-session=${secret}`, undefined],
  ['grid-session=short', undefined],
  [`grid-session=${secret.slice(1)}!`, undefined],
  [`__Host-grid-session=${secret}`, undefined],
  ['', undefined],
])('the cookies %j contain the session %s', (cookie, expected) => {
  const request = new Request('https://grid.example', { headers: { cookie } })

  expect(secretCookieOf(request, 'grid-session')).toBe(expected)
})
