/** References in comments and documents lead only to headings in `docs/`, or to sections of public specifications. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

/** `docs/file.md` or `docs/folder/file.md`, followed by the cited headings. */
const citation = /\bdocs\/((?:[a-z-]+\/)?[A-Za-z-]+\.md)((?:,\s+(?:\*\s+|\/\/\s+)?(?:and\s+)?"[^"\n]+")*)/g
/** Patterns for documents and section numbers that a reader of this repository cannot look up. */
const unpublished = [
  /\bSpec: "/,
  /\b(?:Security|Reliability|Runtime|Style)(?:,? (?:section )?|: ?(?:section )?)[A-Z]?\d/i,
  /(?<![\w/-])(?:spec|grid|mcp|a2a|wake|console|style|reliability|runtime|security)\.md\b/,
]

const sources = ['src', 'db', 'scripts', 'test'].flatMap(filesOf).filter((path) => path !== 'test/citations.test.ts')
const documents = [
  'README.md',
  'PACKAGE.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'scripts/bench/README.md',
  ...filesOf('docs'),
]
const headings = new Map(documents.map((path) => [path, headingsOf(path)]))

test('every cited document is in docs/ and contains the cited headings', () => {
  expect([...sources, ...documents].flatMap((path) => faultsOf(path, textOf(path)))).toEqual([])
})

test('no comment or test cites a document outside the repository', () => {
  const found = sources.flatMap((path) =>
    textOf(path).split('\n').filter((line) => unpublished.some((pattern) => pattern.test(line.replace(citation, ''))))
      .map((line) => `${path}: ${line.trim()}`)
  )

  expect(found).toEqual([])
})

test('a documentation page has at most 300 lines', () => {
  const long = documents.filter((path) => path.startsWith('docs/') && textOf(path).split('\n').length > 301)

  expect(long).toEqual([])
})

test('the headings of a document are unique, so that citations are unambiguous', () => {
  const repeated = [...headings].flatMap(([path, all]) =>
    all.filter((heading, i) => all.indexOf(heading) !== i).map((heading) => `${path}: ${heading}`)
  )

  expect(repeated).toEqual([])
})

test('every link in a document leads to an existing file and heading', () => {
  const broken = documents.flatMap((path) =>
    [...textOf(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].filter(([, file, anchor]) => {
      const target = file ? join(dirname(path), file) : path
      if (!existsSync(target)) return true
      return anchor !== undefined && !headings.get(target)?.some((heading) => anchorOf(heading) === anchor)
    }).map(([link]) => `${path}: ${link}`)
  )

  expect(broken).toEqual([])
})

test.each([
  ['docs/nowhere.md, "Promises"', 'there is no docs/nowhere.md'],
  ['docs/delivery.md, "No such thing"', 'docs/delivery.md has no heading "No such thing"'],
  ['docs/protocol/mcp.md, "Revisions", "No such thing"', 'docs/protocol/mcp.md has no heading "No such thing"'],
])('a citation without a target is found: %s', (text, fault) => {
  expect(faultsOf('src/x.ts', text)).toEqual([`src/x.ts: ${fault}`])
})

function faultsOf(path: string, text: string): string[] {
  return [...text.matchAll(citation)].flatMap(([, name, cited]) => {
    const known = headings.get(`docs/${name}`)
    if (!known) return [`${path}: there is no docs/${name}`]
    return [...cited.matchAll(/"([^"\n]+)"/g)].filter(([, heading]) => !known.includes(heading))
      .map(([, heading]) => `${path}: docs/${name} has no heading "${heading}"`)
  })
}

function headingsOf(path: string): string[] {
  const text = textOf(path).replace(/^```.*?^```/gms, '')
  return [...text.matchAll(/^#{1,4} (.+?)\s*$/gm)].map(([, heading]) => heading)
}

/** Returns the heading's anchor, as GitHub generates it. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')
}

function textOf(path: string): string {
  return readFileSync(path, 'utf8')
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return filesOf(path)
    return /\.(?:tsx?|js|md)$/.test(entry.name) && !path.startsWith('db/migrations') ? [path] : []
  })
}
