/** What comments and test names cite: a heading in `docs/`, or a section of a public specification. Nothing else. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const folders = ['src', 'db', 'scripts', 'test', 'docs']

/** `docs/file.md`, followed by the headings that are cited. */
const citation = /\bdocs\/([a-z-]+\.md)((?:,\s+(?:\*\s+|\/\/\s+)?(?:and\s+)?"[^"\n]+")*)/g
/** Documents and numbers that a reader of this repository cannot look up. */
const unpublished = [
  /\bSpec: "/,
  /\b(?:Security|Reliability|Runtime|Style)(?:,? (?:section )?|: ?(?:section )?)[A-Z]?\d/i,
  /(?<![\w/-])(?:spec|grid|mcp|a2a|wake|console|style|reliability|runtime|security)\.md\b/,
]

const files = folders.flatMap(filesOf).filter((path) => path !== 'test/citations.test.ts')
const headings = new Map(
  readdirSync('docs').map((name) => [
    name,
    new Set([...readFileSync(`docs/${name}`, 'utf8').matchAll(/^#{1,4} (.+?)\s*$/gm)].map(([, heading]) => heading)),
  ]),
)

test('every cited document is in docs/, and every cited heading is in that document', () => {
  expect(files.flatMap((path) => faultsOf(path, textOf(path)))).toEqual([])
})

test('no comment and no test cites a document that is not in the repository', () => {
  const found = files.filter((path) => !path.startsWith('docs/')).flatMap((path) =>
    textOf(path).split('\n').filter((line) => unpublished.some((pattern) => pattern.test(line.replace(citation, ''))))
      .map((line) => `${path}: ${line.trim()}`)
  )

  expect(found).toEqual([])
})

function faultsOf(path: string, text: string): string[] {
  return [...text.matchAll(citation)].flatMap(([, name, cited]) => {
    const known = headings.get(name)
    if (!known) return [`${path}: there is no docs/${name}`]
    return [...cited.matchAll(/"([^"\n]+)"/g)].filter(([, heading]) => !known.has(heading))
      .map(([, heading]) => `${path}: docs/${name} has no heading "${heading}"`)
  })
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
