/** What a creation answers, and what is created. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { inboxOf, postA2a, send03 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

const admin = (name: string, args: object = {}) => callTool(grid, grid.acme.adminKey, name, { ...args })

test('createdAt of a creation is that of the listing, also while the clock runs', async () => {
  let now = grid.clock.now
  Object.defineProperty(grid.clock, 'now', { get: () => now += 7 })

  const { agent } = (await admin('admin_create_agent', { alias: 'carol' })).text
  const { channel } = (await admin('admin_create_channel', { name: 'general' })).text
  const { agents } = (await admin('admin_list_agents')).text
  const { channels } = (await admin('admin_list_channels')).text

  expect(agents).toContainEqual(agent)
  expect(channels).toContainEqual(channel)
})

test('a key of an agent of type human sends as agent, over MCP and A2A', async () => {
  const { api_key: key } = (await admin('admin_create_agent', { alias: 'hanna', type: 'human' })).text

  await callTool(grid, key, 'send_message', { to: '@bob', message: 'over MCP' })
  await postA2a(grid, key, send03())

  expect(await inboxOf(grid, grid.bob)).toMatchObject([
    { user: '@hanna', type: 'agent', message: 'over MCP' },
    { user: '@hanna', type: 'agent', message: 'hi' },
  ])
})
