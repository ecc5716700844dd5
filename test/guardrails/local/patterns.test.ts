import { expect, test } from 'vitest'
import { RefusedConfig } from '../../../src/guardrails/provider.ts'
import { createGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { testGrid } from '../../support/grid.ts'
import { foundIn, prepared, verdictOn } from './corpus.ts'

test('the patterns guardrail finds all matches of all expressions, and merges overlapping ones', () => {
  const text = 'aab 12-34 é👍 ABBA'
  const verdict = verdictOn(prepared('patterns', { patterns: ['a+b', '\\d+-\\d+', '👍', '(?i)abb', 'BBA'] }), text)

  expect(verdict.kinds).toEqual(['text that is not allowed'])
  expect(foundIn(text, verdict)).toEqual(['aab', '12-34', '👍', 'ABBA'])
})

test('an expression that matches an empty string objects to the whole text', () => {
  const verdict = verdictOn(prepared('patterns', { patterns: ['\\b'] }), 'word')

  expect(verdict).toEqual({ kinds: ['text that is not allowed'] })
})

test.each([
  ['(a', 'patterns.1', 'This is not a valid RE2 expression: missing closing ): `(a`.'],
  ['(?=a)', 'patterns.1', 'This is not a valid RE2 expression: invalid or unsupported Perl syntax: `(?=`.'],
  ['(a)\\1', 'patterns.1', 'This is not a valid RE2 expression: invalid escape sequence: `\\1`.'],
  ['a*', 'patterns.1', 'This expression matches an empty text, so it would object to every message.'],
  ['.{1,400}z', 'patterns.1', 'This expression is too large. Repeat fewer times, or use fewer alternatives.'],
])('saving the expression %j is refused at the field %s: %s', (pattern, field, message) => {
  const prepare = () => prepared('patterns', { patterns: ['ok', pattern] })

  expect(prepare).toThrow(RefusedConfig)
  expect(prepare).toThrow(expect.objectContaining({ field, message }))
})

test("creating a guardrail with an invalid expression is refused, and the error names the field's path", async () => {
  const { acme } = await testGrid()

  const created = createGuardrail(acme.store, { name: 'p', provider: 'patterns', config: { patterns: ['ok', '(a'] } })

  await expect(created).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'config.patterns.1: This is not a valid RE2 expression: missing closing ): `(a`.',
    details: { field: 'config.patterns.1' },
  })
})

/** Expressions that take exponential or quadratic time in other engines, with the texts that cause it. */
test.each([
  ['(a+)+$', 'a', '!'],
  ['(a|aa)+$', 'a', '!'],
  ['(.*)*x', 'y', ''],
  ['(a|a?)+b', 'a', ''],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a', ''],
  ['(x+x+)+y', 'x', ''],
  ['x*y|x', 'x', ''],
  ['\\s+$', ' ', 'x'],
  ['(?:a?){50}a{50}$', 'a', 'b'],
])('checking a text of 10,000 characters with the expression %j ends quickly', (pattern, char, end) => {
  const text = char.repeat(10_000 - end.length) + end
  const check = prepared('patterns', { patterns: [pattern] })
  const startedAt = process.cpuUsage()

  const verdict = verdictOn(check, text)

  // The limit can be generous, because other engines take hours.
  expect(process.cpuUsage(startedAt).user / 1000).toBeLessThan(5_000)
  if (verdict.spans) expect(verdict.spans.at(-1)!.end).toBeLessThanOrEqual(text.length)
})

test('the rest of the text is redacted if finding all matches takes too long', () => {
  const text = 'x'.repeat(10_000)
  const verdict = verdictOn(prepared('patterns', { patterns: ['x*y|x'] }), text)

  expect(verdict.spans).toEqual([{ start: 0, end: text.length }])
})
