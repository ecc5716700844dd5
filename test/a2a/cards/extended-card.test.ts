import { beforeEach, describe, expect, test } from 'vitest'
import { extendedCardPaths } from '../../../src/a2a/cards/cards.ts'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { postA2a, request } from '../../support/a2a.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://grid.example' } })
  await grid.evil.agent('desk', { visibility: 'public', description: 'Takes orders.', skills: [{ name: 'orders' }] })
  await grid.evil.agent('hidden')
})

function get(path: string, key?: string, headers: Record<string, string> = {}) {
  return grid.request(path, { headers: { ...headers, ...(key !== undefined && { Authorization: `Bearer ${key}` }) } })
}

const skillIds = (card: { skills: { id: string }[] }) => card.skills.map(({ id }) => id)

describe.each(extendedCardPaths.map((path) => path.replace(':alias', 'bob')))('%s', (path) => {
  test("an extended card requires an agent's key", async () => {
    const without = await get(path)

    expect(without.status).toBe(401)
    expect(without.headers.get('www-authenticate')).toBe('Bearer realm="agent-grid"')
    expect((await get(path, 'nonsense')).status).toBe(401)
    expect((await get(path, grid.acme.adminKey)).status).toBe(401)
  })

  test('an extended card is not cached by proxies, and is revalidated by its ETag', async () => {
    const response = await get(path, grid.alice.key)
    const etag = response.headers.get('etag')!

    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    expect((await get(path, grid.alice.key, { 'If-None-Match': etag })).status).toBe(304)
  })
})

test("the shared endpoint's extended card has a skill for each agent that the caller can write to", async () => {
  const card = await (await get('/a2a/v1/grid/v1/card', grid.alice.key)).json()

  expect(skillIds(card)).toEqual(['deliver', '@bob', '@desk'])
  expect(card.skills[2]).toEqual({
    id: '@desk',
    name: '@desk',
    description: 'Takes orders.',
    tags: ['orders'],
  })
  expect(card.securitySchemes.bearer.description).toMatch(/Access tokens of OAuth and admin keys are not accepted/)
  expect(card.signatures.length).toBeGreaterThan(0)
})

test("another account's agent has an extended card only if the agent is public", async () => {
  expect((await get('/a2a/v1/agents/desk/v1/card', grid.alice.key)).status).toBe(200)
  expect((await get('/a2a/v1/agents/hidden/v1/card', grid.alice.key)).status).toBe(404)
})

test('the card methods return the same card as the card URL, in the version of the method', async () => {
  const in03 = await postA2a(grid, grid.alice.key, request('agent/getAuthenticatedExtendedCard'))
  const in10 = await postA2a(grid, grid.alice.key, request('GetExtendedAgentCard', null))
  const over03 = await (await get('/a2a/v1/grid/v1/card', grid.alice.key)).json()
  const over10 = await (await get('/a2a/v1/grid/v1/card', grid.alice.key, { 'A2A-Version': '1.0' })).json()

  expect(in03.body.result).toEqual(over03)
  expect(in10.body.result).toEqual(over10)
  expect(over03).toHaveProperty('url')
  expect(over10).not.toHaveProperty('url')
})

test('a caller sees in extended cards only the agents that it sees in its directory', async () => {
  await updateAgent(grid.evil.store, { agent: 'desk', accessPolicy: 'block_list', accessList: ['alice'] })

  expect(skillIds(await (await get('/a2a/v1/grid/v1/card', grid.alice.key)).json())).toEqual(['deliver', '@bob'])
})
