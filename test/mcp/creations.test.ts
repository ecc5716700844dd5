/** What a creation answers, and what is created. */
import { afterEach, beforeEach, expect, test } from 'vitest'
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

test('nobody makes a person: people choose their own alias', async () => {
  const { text } = await admin('admin_create_agent', { alias: 'hanna', type: 'human' })

  expect(text.error).toMatchObject({ code: 'invalid_input', message: 'type must be one of mcp, a2a.' })
})
