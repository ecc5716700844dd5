import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { newId } from '../../src/lib/id.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, eras } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

test('pages of agents and channels list each once, in order, and each page has the total', async () => {
  for (const name of ['carol', 'dave', 'erin']) {
    await grid.acme.agent(name)
    await createChannel(grid.acme.store, { name: `of-${name}`, members: ['alice', name] })
  }

  expect(await pages('admin_list_agents', 2)).toEqual([['@alice', '@bob'], ['@carol', '@dave'], ['@erin']])
  expect(await pages('admin_list_agents', 5)).toEqual([['@alice', '@bob', '@carol', '@dave', '@erin']])
  expect(await pages('admin_list_channels', 2)).toEqual([['#of-carol', '#of-dave'], ['#of-erin']])
})

test('a page begins after its cursor, even if that agent was deleted meanwhile', async () => {
  const first = await list('admin_list_agents', { limit: 1 })
  await callTool(grid, grid.acme.adminKey, 'admin_delete_agent', { alias: 'alice' })
  const second = await list('admin_list_agents', { limit: 1, cursor: first.next_cursor })

  expect(first).toMatchObject({ agents: [{ alias: '@alice' }], total: 2, next_cursor: 'alice' })
  expect(second).toMatchObject({ agents: [{ alias: '@bob' }], total: 1 })
  expect(second).not.toHaveProperty('next_cursor')
})

test.each(eras)('%s: 10,000 agents fit into one call, and with one more there is a cursor', async (era) => {
  await addAgents(9_998)
  const startedAt = performance.now()
  const { agents, total, next_cursor } = await list('admin_list_agents', {}, era)
  console.log(`admin_list_agents, ${era}: 10,000 agents in ${Math.round(performance.now() - startedAt)} ms`)

  expect([agents.length, total, next_cursor]).toEqual([10_000, 10_000, undefined])
  expect(new Set(agents.map(({ id }: { id: string }) => id)).size).toBe(10_000)
  const aliases = agents.map(({ alias }: { alias: string }) => alias)
  expect(aliases).toEqual(['@alice', '@bob', ...Array.from({ length: 9_998 }, (_, n) => `@robot-${10_000 + n}`)])

  await grid.acme.agent('zoe')
  const full = await list('admin_list_agents', {}, era)
  const rest = await list('admin_list_agents', { cursor: full.next_cursor }, era)
  expect([full.agents.length, full.total]).toEqual([10_000, 10_001])
  expect(rest.agents.map(({ alias }: { alias: string }) => alias)).toEqual(['@zoe'])
})

async function list(tool: string, args: Record<string, unknown> = {}, era?: (typeof eras)[number]) {
  return (await callTool(grid, grid.acme.adminKey, tool, args, era)).structured
}

/** The names on each page of `limit` entries. */
async function pages(tool: string, limit: number): Promise<string[][]> {
  const found: string[][] = []
  let cursor: string | undefined
  do {
    const { agents, channels, total, next_cursor } = await list(tool, { limit, cursor })
    found.push((agents ?? channels).map(({ alias, name }: Record<string, string>) => alias ?? name))
    expect(total).toBe((await list(tool)).total)
    cursor = next_cursor
  } while (cursor !== undefined)
  return found
}

/** Insert rows like those that the grid creates, 1,000 in a statement. */
async function addAgents(count: number): Promise<void> {
  const agents = Array.from({ length: count }, (_, n) => ({ id: newId(), alias: `robot-${10_000 + n}` }))
  for (let at = 0; at < count; at += 1_000) {
    await grid.store.write([{
      sql: `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, description, created_at)
        SELECT ?, value->>'id', value->>'alias', 'mcp', 'private', 'auto_approve', 'One of many', ? FROM json_each(?)`,
      args: [grid.acme.id, grid.clock.now, JSON.stringify(agents.slice(at, at + 1_000))],
      rows: 1_000,
    }])
  }
}
