/** Forms of the OAuth endpoints, which strangers send (security A6). */
import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { refuseRepeats } from '../../src/oauth/form.ts'

test('thousands of names, as many as a form holds, hold nobody else up', () => {
  const names = Array.from({ length: 5_000 }, (_, n) => n.toString(36))
  const form = new URLSearchParams(names.join('&'))

  const tookMs = Array.from({ length: 5 }, () => {
    const startedAt = performance.now()
    refuseRepeats(form)
    return performance.now() - startedAt
  })

  // Looked up name by name it takes most of a second.
  expect(Math.min(...tookMs)).toBeLessThan(100)
})

test.each([
  ['scope=a&scope=b', false],
  ['scope=&scope=', false],
  ['resource=a&resource=b', true],
  ['a=1&b=1', true],
])('%s: %s', (text, isRight) => {
  const read = () => refuseRepeats(new URLSearchParams(text))

  if (isRight) expect(read).not.toThrow()
  else expect(read).toThrow('A parameter was sent twice.')
})
