/** The tables of the documents are what the code says. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documents, withTables } from '../scripts/docs.ts'

test('the tables of the documents are current: if not, run "npm run docs"', () => {
  const texts = documents().map((name) => [name, readFileSync(name, 'utf8')] as const)

  expect(texts.filter(([, text]) => withTables(text) !== text).map(([name]) => name)).toEqual([])
})

test('a table is written between its marks, again and again alike, and an unknown mark fails', () => {
  const once = withTables('# A\n<!-- errors -->\nold\n<!-- /errors -->\nafter\n')

  expect(once).toMatch(/^# A\n<!-- errors -->\n\n\| Status \| Codes \|\n[^]*`rate_limit_exceeded`[^]*\nafter\n$/)
  expect(withTables(once)).toBe(once)
  expect(once).not.toContain('old')
  expect(() => withTables('<!-- prices -->\n<!-- /prices -->')).toThrow('There is no table "prices"')
  expect(() => withTables('<!-- errors -->\n')).toThrow('no <!-- /errors -->')
})
