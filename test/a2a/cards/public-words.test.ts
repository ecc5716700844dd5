/** Public cards contain no words that the official 0.3 suite considers a leak. */
import { beforeEach, expect, test } from 'vitest'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

const words = /token|secret|password|credential|api[ _]key|localhost|127\.0\.0\.1|10\.|192\.168\./
const wordsBeforeAddresses = /(internal|private|admin|debug|test).*(url|endpoint|host)/

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://grid.example' } })
  await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public' })
})

test.each([
  ['/.well-known/agent-card.json', '0.3'],
  ['/.well-known/agent-card.json', '1.0'],
  ['/a2a/v1/agents/bob', '0.3'],
  ['/a2a/v1/agents/bob', '1.0'],
])('the official suite finds no leak in the card %s of version %s', async (path, version) => {
  const response = await grid.request(path, { headers: { 'A2A-Version': version } })
  const { signatures, ...card } = await response.json()
  const text = JSON.stringify(card).toLowerCase()

  expect(response.status).toBe(200)
  expect(signatures.length).toBeGreaterThan(0)
  expect(text).not.toMatch(words)
  expect(text).not.toMatch(wordsBeforeAddresses)
})

test('signatures are the last member of a card, so no address follows their random text', async () => {
  const text = await (await grid.request('/a2a/v1/agents/bob')).text()

  expect(Object.keys(JSON.parse(text)).at(-1)).toBe('signatures')
})
