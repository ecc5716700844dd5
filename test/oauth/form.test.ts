/** Forms of the OAuth endpoints, which are untrusted input. See docs/security.md, "JSON limits". */
import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { rejectRepeatedParameters } from '../../src/oauth/form.ts'

test('a form with as many names as it can hold is checked quickly', () => {
  const names = Array.from({ length: 5_000 }, (_, n) => n.toString(36))
  const form = new URLSearchParams(names.join('&'))

  const tookMs = Array.from({ length: 5 }, () => {
    const startedAt = performance.now()
    rejectRepeatedParameters(form)
    return performance.now() - startedAt
  })

  // With a linear search for each name it takes most of a second.
  expect(Math.min(...tookMs)).toBeLessThan(100)
})

test.each([
  ['scope=a&scope=b', false],
  ['scope=&scope=', false],
  ['resource=a&resource=b', true],
  ['a=1&b=1', true],
])('%s: %s', (text, isValid) => {
  const read = () => rejectRepeatedParameters(new URLSearchParams(text))

  if (isValid) expect(read).not.toThrow()
  else expect(read).toThrow('A parameter was sent twice.')
})
