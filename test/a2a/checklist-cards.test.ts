/** What a real peer or a suite notices of cards. The numbers are those of the checklist of peers. */
import { AgentCard } from '@a2a-js/sdk'
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { keyIn, verifyCard } from '../support/card-signatures.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let grid: LiveGrid
beforeEach(async () => {
  grid = await liveGrid()
  await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public' })
})
afterEach(() => grid.close())

test.each(['/a2a/v1/grid', '/a2a/v1/agents/bob'])('17: the card at %s', async (path) => {
  const at = (url: string, headers: Record<string, string> = {}) => fetch(url, { headers })
  const hybrid = await at(grid.url + path)
  const only10 = await at(grid.url + path, { 'A2A-Version': '1.0' })
  const [card, card10] = [await hybrid.json(), await only10.json()]

  expect(card).toMatchObject({ protocolVersion: '0.3.0', url: grid.url + path })
  expect(card10).not.toHaveProperty('url')
  expect(card10.supportedInterfaces[0]).toMatchObject({ url: grid.url + path, protocolVersion: '1.0' })
  expect(hybrid.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/)
  expect(hybrid.headers.get('vary')).toContain('A2A-Version')
  const etag = hybrid.headers.get('etag')!
  expect((await at(grid.url + path, { 'If-None-Match': etag })).status).toBe(304)
  expect((await at(card.url, { 'A2A-Version': '1.0', 'If-None-Match': etag })).status).toBe(200)

  const extended = `${card.url}/v1/card`
  expect((await at(extended)).status).toBe(401)
  expect((await at(extended, { Authorization: `Bearer ${grid.alice.key}` })).status).toBe(200)
})

test('17: the resolver of the official library finds the card below the address of an agent, and verifies it', async () => {
  const card = await new DefaultAgentCardResolver().resolve(`${grid.url}/a2a/v1/agents/bob/`)

  expect(card).toMatchObject({ name: 'bob' })
  const keyOf = async (kid: string, jku?: string) => keyIn(await (await fetch(jku!)).json(), kid)
  const json = AgentCard.toJSON(card) as object
  await verifyCard(json, keyOf)
  await expect(verifyCard({ ...json, name: 'eve' }, keyOf)).rejects.toThrow('No valid signatures')
})
