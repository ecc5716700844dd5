/** Whether docs/protocol.md names what the doors offer: every route, tool, parameter and error code, and no other. */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { errorKinds } from '../src/errors.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { mcp } from './support/mcp.ts'

const document = readFileSync('docs/protocol.md', 'utf8')

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

/** What stands below a heading, up to the next one of its level. */
function section(heading: string): string {
  const level = heading.match(/^#+/)![0]
  const [, rest] = document.split(`\n${heading}\n`)
  if (rest === undefined) throw new Error(`docs/protocol.md has no "${heading}"`)
  return rest.split(new RegExp(`\n#{1,${level.length}} `))[0]
}

const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word)

test('every address for programs is named, and no other', () => {
  const paths = grid.app.routes.map(({ path }) => path)
    .filter((path) => /^\/(mcp|a2a|api|oauth|\.well-known|healthz|readyz|agent-grid|llms|join)\b/.test(path))
    // A name may have a pattern, which may end with a verb: `:id{[^/]+:cancel}`.
    .map((path) =>
      path.replace(/(?<=\/):(\w+)(?:\{\[\^[^\]]+\]\+(:\w+)?\})?/g, (_, name, verb = '') => `{${name}}${verb}`)
    )

  expect(paths.length).toBeGreaterThan(20)
  expect([...new Set(paths)].filter((path) => !isNamed(path))).toEqual([])
  const named = [...section('## Endpoints').matchAll(/\{(?:base|app)_url\}(\/[^`\[\s]*)/g)].map(([, path]) => path)
  expect(named.filter((path) => !paths.includes(path))).toEqual([])
})

/** Addresses may be written with a common beginning and `[/…, /…]` behind it. */
function isNamed(path: string): boolean {
  const plain = path.replace(/\/\*?$/, '')
  return document.includes(plain) ||
    endings().some((ending) => plain.endsWith(ending) && isNamed(plain.slice(0, -ending.length)))
}

function endings(): string[] {
  return [...section('## Endpoints').matchAll(/\[(\/[^\]]+)\]/g)].flatMap(([, list]) => list.split(', '))
}

test.each([
  ['agents', '## Agent tools', async (grid: TestGrid) => (await grid.acme.agent('doc-reader')).key],
  ['admins', '## Admin tools', (grid: TestGrid) => Promise.resolve(grid.acme.adminKey)],
])('every tool for %s and every parameter is named, and no other tool', async (_, heading, keyOf) => {
  const { body } = await mcp(grid, await keyOf(grid), 'tools/list')
  const tools: { name: string; inputSchema: { properties?: Record<string, unknown> } }[] = body.result.tools
  const text = section(heading)
  const named = heading === '## Admin tools'
    ? [...text.matchAll(/^\| `(admin_\w+)` \|/gm)].map(([, name]) => name)
    : [...text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)

  expect(named.sort()).toEqual(tools.map(({ name }) => name).sort())
  for (const { name, inputSchema } of tools) {
    const own = heading === '## Admin tools' ? text : section(`### ${name}`)
    const words = quoted(own).map((word) => word.replace(/\?$/, ''))
    for (const parameter of Object.keys(inputSchema.properties ?? {})) expect(words, name).toContain(parameter)
  }
})

test('every error code is listed', () => {
  const rows = section('## Error codes').split('\n').filter((line) => /^\| \d/.test(line))
  const listed = new Set(rows.flatMap(quoted))

  expect(Object.keys(errorKinds).filter((code) => !document.includes(`\`${code}\``))).toEqual([])
  expect([...listed].filter((code) => !(code in errorKinds))).toEqual([])
})
