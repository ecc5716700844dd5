import { expect, test } from 'vitest'
import { snippets } from '../../../src/clients/snippets.ts'
import { testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'

const baseUrl = 'https://grid.example'
const textOf = (id: string, key = 'KEY', base = baseUrl) =>
  snippets({ baseUrl: base, key }).find((snippet) => snippet.id === id)!.text

test.each(snippets({ baseUrl, key: 'KEY' }))('the snippet for $title contains the URL and the key', ({ id, text }) => {
  expect(text).toContain(id === 'a2a' ? `${baseUrl}/a2a/v1/agents/RECIPIENT/` : `${baseUrl}/mcp/v1/grid`)
  expect(text).toContain('Bearer KEY')
})

const url = `${baseUrl}/mcp/v1/grid`
const headers = { Authorization: 'Bearer KEY' }
test.each([
  ['cursor', { mcpServers: { 'agent-grid': { url, headers } } }],
  ['vs-code', { servers: { 'agent-grid': { type: 'http', url, headers } } }],
  ['mcp', { mcpServers: { 'agent-grid': { type: 'http', url, headers } } }],
  [
    'opencode',
    {
      $schema: 'https://opencode.ai/config.json',
      mcp: { 'agent-grid': { type: 'remote', url, headers, oauth: false } },
    },
  ],
])("the snippet for %s is JSON in that client's format", (id, expected) => {
  expect(JSON.parse(textOf(id))).toEqual(expected)
})

test('the grid accepts the call in the A2A snippet', async () => {
  const grid = await testGrid()
  const text = textOf('a2a').replace('RECIPIENT', 'bob')
  const path = new URL(text.match(/^curl -sS (\S+)/)![1]).pathname
  const call = text.match(/-d '([\s\S]+)'$/)![1]

  const response = await grid.post(path, call, { Authorization: `Bearer ${grid.alice.key}` })

  expect((await response.json()).result.kind).toBe('task')
  expect((await callTool(grid, grid.bob.key, 'read_messages')).text).toMatchObject([{ message: 'Hello' }])
})
