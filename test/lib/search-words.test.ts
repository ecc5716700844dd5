import { expect, test } from 'vitest'
import { excerptOf, isShort, queryWords, searchWords } from '../../src/lib/search-words.ts'

const isFound = (query: string, text: string) =>
  queryWords(query).every((word) =>
    searchWords(text).some((one) => isShort(word) ? one === word : one.startsWith(word))
  )

test.each([
  ['deploy', 'The Deployment failed', true],
  ['failed deploy', 'The Deployment failed', true],
  ['deploy gone', 'The Deployment failed', false],
  ['ployment', 'The Deployment failed', false],
  ['dep', 'The Deployment failed', true],
  ['de', 'The Deployment failed', false],
  ['de', 'Ministère de la Culture', true],
  ['한국', '한국어를 씁니다', true],
  ['cafe', 'Im Café', true],
  ['Café', 'im cafe', true],
  ['東京', '今日は東京都へ行く', true],
  ['京', '東京', true],
  ['京', '大阪', false],
  ['都東', '今日は東京都へ行く', false],
  ['한국어', '한국어를 씁니다', true],
  ['ab12', 'v=AB12-x', true],
  ['error_code', 'the code of an error', true],
  ['ﷺ', 'صلى الله عليه وسلم', true],
])('whether a search for %s finds “%s”: %s', (query, text, expected) => {
  expect(isFound(query, text)).toBe(expected)
})

test('words of any length and script are indexed as letters and digits', () => {
  const words = searchWords(`${'x'.repeat(5000)} 𞤀𞤁 ½ "quoted" (or) a*b 😀 ${'𞤀'.repeat(100)}`)

  expect(words.every((word) => word.length <= 40 && word.isWellFormed() && !/[\s"*()]/.test(word))).toBe(true)
})

test('an excerpt is one line around the first match, with all matches marked', () => {
  const pieces = excerptOf(`${'before '.repeat(50)}the\nneedle is ${'after '.repeat(50)}`, ['needle'])

  expect(pieces.filter(({ isMatch }) => isMatch)).toEqual([{ text: 'needle', isMatch: true }])
  const text = pieces.map((piece) => piece.text).join('')
  expect(text).toMatch(/^…before .*the needle is after .*…$/)
  expect(text.length).toBeLessThanOrEqual(162)
})
