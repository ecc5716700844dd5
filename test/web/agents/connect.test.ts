import { expect, test } from 'vitest'
import { snippets } from '../../../src/lib/client-snippets.ts'
import { testGrid } from '../../support/grid.ts'

const baseUrl = 'https://grid.example'
const textOf = (id: string, key = 'KEY', base = baseUrl) =>
  snippets({ baseUrl: base, key }).find((snippet) => snippet.id === id)!.text

test.each(snippets({ baseUrl, key: 'KEY' }))('the snippet for $title contains the URL and the key', ({ id, text }) => {
  expect(text).toContain(id === 'a2a' ? `${baseUrl}/a2a/v1/grid` : `${baseUrl}/mcp/v1/grid`)
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
])('the snippet for %s is JSON in the format of that client', (id, expected) => {
  expect(JSON.parse(textOf(id))).toEqual(expected)
})

test('the grid accepts the A2A call', async () => {
  const grid = await testGrid()
  const call = textOf('a2a').match(/-d '([\s\S]+)'$/)![1].replace('RECIPIENT', 'bob')

  const response = await grid.post('/a2a/v1/grid', call, { Authorization: `Bearer ${grid.alice.key}` })

  expect((await response.json()).result.parts[0].text).toContain('@bob')
  await grid.close()
})
