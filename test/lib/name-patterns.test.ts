import fc from 'fast-check'
import { expect, test } from 'vitest'
import { normaliseName, overlaps } from '../../src/lib/name-patterns.ts'

test('names are normalised, and those without a normal form are refused', () => {
  expect(['./src//auth/', 'src\\auth', ' src/auth ', '/src/auth'].map(normaliseName)).toEqual(Array(4).fill('src/auth'))
  expect(['PROJ-12', 'Src/****/a', '***'].map(normaliseName)).toEqual(['PROJ-12', 'Src/**/a', '**'])
  expect(['', '/', './', 'a/../b', 'a\nb', 'a\u200bb', 'x'.repeat(201)].map(normaliseName)).toEqual(
    Array(7).fill(undefined),
  )
})

test.each([
  ['src/**', 'src/auth/token.ts', true],
  ['src/**', 'src', true],
  ['src/*', 'src/auth/token.ts', false],
  ['**/*.ts', 'src/**', true],
  ['**/*.ts', 'src/*.md', false],
  ['src/*.ts', 'src/*.test.ts', true],
  ['a/**/c/**', '**/b/d', true],
  ['a/?', 'a/bc', false],
  ['PROJ-1?', 'PROJ-12', true],
  ['proj-12', 'PROJ-12', false],
])('whether the names %s and %s overlap: %s', (one, other, meet) => {
  expect([overlaps(one, other), overlaps(other, one)]).toEqual([meet, meet])
})

const letters = ['a', 'b']
const segments = [...letters, ...letters.flatMap((first) => letters.map((second) => first + second))]
const paths = Array.from({ length: 4 }).reduce<string[][]>(
  (
    all,
  ) => [...all, all.at(-1)!.flatMap((path) => segments.map((segment) => path === '' ? segment : `${path}/${segment}`))],
  [['']],
).slice(1).flat()

/** Returns the pattern as a regular expression, which is a slow reference implementation. */
function matcher(pattern: string): RegExp {
  const source = `/${pattern}`.replaceAll('/**', '(/[^/]+)|').replaceAll(/\*/g, '[^/]*').replaceAll('?', '[^/]')
  return new RegExp(`^${source.replaceAll('|', '*')}$`)
}

test('two patterns overlap exactly if some path of up to four segments matches both', () => {
  const segment = fc.constantFrom('a', 'b', '*', '?', 'a*', '*b', '?b', 'ab', '**', '**')
  const pattern = fc.array(segment, { minLength: 1, maxLength: 3 }).map((all) => all.join('/'))
  fc.assert(
    fc.property(pattern, pattern, (one, other) => {
      const [first, second] = [matcher(one), matcher(other)]
      const hasWitness = paths.some((path) => first.test(`/${path}`) && second.test(`/${path}`))
      expect([overlaps(one, other), overlaps(other, one)]).toEqual([hasWitness, hasWitness])
    }),
    { numRuns: 2_000 },
  )
})
