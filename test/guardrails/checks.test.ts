/** How checks run, and which are cached. See docs/protocol/guardrails.md, "How a message is checked". */
import { expect, test } from 'vitest'
import { LocalChecks } from '../../src/guardrails/local-checks.ts'
import { type GuardrailCheck, provider, type ProviderTools, runCheck } from '../../src/guardrails/provider.ts'
import { patterns } from '../../src/guardrails/local/patterns.ts'
import { testGrid } from '../support/grid.ts'

const guarded = { text: 'a text', direction: 'inbound', sender: '@a', recipient: '@b' } as const
const megabyte = 1024 * 1024

function tools(signal: AbortSignal): ProviderTools {
  return { fetch: () => Promise.reject(new Error('no network')), signal, now: () => 0 }
}

test('a check that ignores its signal is abandoned at the deadline, and its later error is ignored', async () => {
  const deadline = new AbortController()
  let fail = (_: Error) => {}
  const late: GuardrailCheck = () => new Promise((_, reject) => (fail = reject))

  const running = runCheck(late, guarded, tools(deadline.signal))
  deadline.abort()

  await expect(running).rejects.toMatchObject({ name: 'ProviderFailure', reason: 'timeout' })
  fail(new Error('nobody listens'))
})

/** Returns the checks of a provider, each of which reports the size `bytes`. */
function checksOf(bytes?: number) {
  const prepared: string[] = []
  const one = provider({
    id: 'one',
    name: 'One',
    kind: 'local',
    description: '',
    config: {},
    prepare: () => {
      prepared.push('')
      return Object.assign(() => ({ kinds: [] }), { bytes })
    },
  })
  const checks = new LocalChecks([one])
  // Each configuration text is a separate check.
  return { of: (n: number) => checks.check({ provider: 'one', config: `{}${' '.repeat(n)}`, guarded }), prepared }
}

test('thousands of small checks are compiled once each', async () => {
  const { of, prepared } = checksOf()

  for (let round = 0; round < 2; round++) for (let n = 0; n < 3_000; n++) await of(n)

  expect(prepared).toHaveLength(3_000)
})

test('large checks are cached up to 64 MB in total', async () => {
  const { of, prepared } = checksOf(10 * megabyte)
  for (let n = 0; n < 7; n++) await of(n)

  for (let n = 6; n > 0; n--) await of(n)
  expect(prepared).toHaveLength(7)
  await of(0)
  expect(prepared).toHaveLength(8)
})

test.each([
  ['a plain word', ['word'], .5, .6],
  ['five common expressions', ['a+b', '\\d{3}-\\d{4}', '(?i)secret', '[A-Z]{3}', '\\bx\\b'], .5, .7],
  ['a class of Unicode in each place', Array(10).fill('\\pL\\PL'.repeat(60)), 15, 34],
  ['as many places as are allowed', Array(4).fill('a{480}b'), 1, 4],
])('the reported size of expressions is realistic: %s', (_, expressions, least, most) => {
  const { bytes = 0 } = patterns.prepare({ patterns: expressions })

  expect(bytes / megabyte).toBeGreaterThan(least)
  expect(bytes / megabyte).toBeLessThan(most)
})

test('a slow check is terminated with its thread, and the next check gets a result', async () => {
  const { deps: { guardrailChecks } } = await testGrid()
  const text = Array.from({ length: 250_000 }, (_, n) => Math.imul(n + 1, 0x9e3779b1) >>> 31 ? 'a' : 'b').join('')
  const check = (patterns: string[], text: string) =>
    guardrailChecks.check(
      'an account',
      { provider: 'patterns', config: JSON.stringify({ patterns }) },
      { ...guarded, text },
      () => Promise.reject(new Error('It is local')),
    )
  // Each position in the text is a new state of the expressions' automaton.
  const slow = [1, 2, 3, 4].map((n) => `[a-bd-eg-hj-km-np-qs-tv-wy-z]{${400 + n}}\\d`)

  await expect(check(slow, text)).rejects.toMatchObject({
    reason: 'too_slow',
  })
  expect(await check(['swordfish'], 'a swordfish')).toMatchObject({ kinds: [expect.any(String)] })
})
