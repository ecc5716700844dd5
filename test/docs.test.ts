/** The tables in the documents match the code, and each security promise names its test. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documents, withTables } from '../scripts/docs.ts'

test('the tables in the documents are up to date; if not, run "npm run docs"', () => {
  const texts = documents().map((name) => [name, readFileSync(name, 'utf8')] as const)

  expect(texts.filter(([, text]) => withTables(text) !== text).map(([name]) => name)).toEqual([])
})

test('a table is written between its markers, a second write changes nothing, and an unknown marker is an error', () => {
  const once = withTables('# A\n<!-- errors -->\nold\n<!-- /errors -->\nafter\n')

  expect(once).toMatch(/^# A\n<!-- errors -->\n\n\| Status \| Codes \|\n[^]*`rate_limit_exceeded`[^]*\nafter\n$/)
  expect(withTables(once)).toBe(once)
  expect(once).not.toContain('old')
  expect(() => withTables('<!-- prices -->\n<!-- /prices -->')).toThrow('There is no table "prices"')
  expect(() => withTables('<!-- errors -->\n')).toThrow('no <!-- /errors -->')
})

/** The pages with security promises. A page without `only` has promises in all sections except those in `not`. */
const promising: [page: string, sections: { only?: string[]; not?: string[] }][] = [
  ['docs/security.md', { not: ['Reporting'] }],
  ['docs/people.md', { not: ['Setting up single sign-on'] }],
  ['docs/web.md', { only: ['Notifications', 'Open pages'] }],
]
const proof = /\((?:(?:,\s+)?\[[^\]]+\]\((?:\.\.\/)+test\/[\w/.-]+\.test\.tsx?\))+\)$/
const reason = /\(not tested:\s[^()]+\)$/

test.each(promising)(
  'each security promise in %s names its test, or says why there is none',
  (page, { only, not = [] }) => {
    const sections = readFileSync(page, 'utf8').split(/^#{2,} /m).slice(1)
      .filter((section) => (only ?? [titleOf(section)]).includes(titleOf(section)) && !not.includes(titleOf(section)))

    expect(sections.flatMap(unproved)).toEqual([])
    expect(sections.length).toBeGreaterThan(1)
  },
)

test('a paragraph, an item and a row that do not end with their test are found', () => {
  const link = '([a](../test/a.test.ts), [b](../test/b/c.test.ts))'
  const table = `| A | B |\n| --- | --- |\n| a | ${link} |\n| b | c |`

  expect(
    unproved(`Title\n\nTwo\nlines. ${link}\n\nA list:\n\n* one ${link}\n* two\n  ${link}\n\n${table}\n\n${link}\n`),
  ).toEqual([])
  expect(unproved('Title\n\nNo test. (not tested: it is a wish)\n\n```text\ncode\n```\n')).toEqual([])
  expect(unproved(`Title\n\n${link} One more.\n\n* one ${link}\n* two\n  lines\n\n${table}\n`)).toEqual([
    `${link} One more.`,
    '* two\n  lines',
    '| b | c |',
  ])
  expect(unproved('Title\n\nA [test](../src/a.ts).\n\nA. (not tested: )\n')).toHaveLength(2)
})

/**
 * Returns the paragraphs that do not end with links to their tests. A line of links belongs to the table before it, and
 * a paragraph that ends with a colon announces a list.
 */
function unproved(section: string): string[] {
  const text = section.slice(section.indexOf('\n')).replace(/^```.*?^```/gms, '')
  const blocks = text.replace(/\|\n\n(?=\()/g, '|').trim().split(/\n\n|\n(?=\* |\d+\. )/)
  return blocks.flatMap((block) => {
    const rows = block.startsWith('|') && !proof.test(block) ? block.split('\n').slice(2) : [block]
    return rows.filter((row) => !/:$/.test(row) && ![proof, reason].some((end) => end.test(row.replace(/[ |]+$/, ''))))
  }).filter((block) => block !== '')
}

function titleOf(section: string): string {
  return section.slice(0, section.indexOf('\n'))
}
