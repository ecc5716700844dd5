import { beforeEach, expect, test } from 'vitest'
import { setAgentSkills } from '../../src/grid/agents/skills.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { newId } from '../../src/lib/id.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, eras } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('admin lists have each agent and channel once, in order, and the total on each page', async () => {
  for (const name of ['carol', 'dave', 'erin']) {
    await grid.acme.agent(name)
    await createChannel(grid.acme.store, { name: `of-${name}`, members: ['alice', name] })
  }

  expect(await pages('admin_list_agents', 2)).toEqual([['@alice', '@bob'], ['@carol', '@dave'], ['@erin']])
  expect(await pages('admin_list_agents', 5)).toEqual([['@alice', '@bob', '@carol', '@dave', '@erin']])
  expect(await pages('admin_list_channels', 2)).toEqual([['#of-carol', '#of-dave'], ['#of-erin']])
})

test("the next page of agents starts after the cursor, even if the cursor's agent was deleted", async () => {
  const first = await list('admin_list_agents', { limit: 1 })
  await callTool(grid, grid.acme.adminKey, 'admin_delete_agent', { alias: 'alice' })
  const second = await list('admin_list_agents', { limit: 1, cursor: first.next_cursor })

  expect(first).toMatchObject({ agents: [{ alias: '@alice' }], total: 2, next_cursor: 'alice' })
  expect(second).toMatchObject({ agents: [{ alias: '@bob' }], total: 1 })
  expect(second).not.toHaveProperty('next_cursor')
})

test('admin_list_agents lists 10,000 agents once each, in pages of up to 1 MB that all have the total', async () => {
  await addAgents(9_998)
  const aliases: string[] = []
  const sizes: number[] = []
  let cursor: string | undefined
  do {
    const { text } = await callTool(grid, grid.acme.adminKey, 'admin_list_agents', { cursor })
    aliases.push(...text.agents.map(({ alias }: { alias: string }) => alias))
    sizes.push(JSON.stringify(text).length)
    expect(text.total).toBe(10_000)
    cursor = text.next_cursor
  } while (cursor !== undefined)

  expect(aliases).toEqual(['@alice', '@bob', ...Array.from({ length: 9_998 }, (_, n) => `@robot-${10_000 + n}`)])
  expect(Math.max(...sizes)).toBeLessThan(1_001_000)
  expect(sizes.slice(0, -1).every((size) => size > 999_000)).toBe(true)
})

test('lists of skills and guardrails beyond 1 MB have pages too', async () => {
  const skills = Array.from(
    { length: 1_000 },
    (_, n) => ({ name: `skill-${1_000 + n}`, description: '\u{1f642}'.repeat(250) }),
  )
  for (let at = 0; at < 1_000; at += 200) {
    await setAgentSkills(grid.acme.store, { agent: 'alice', skills: skills.slice(at, at + 200) })
  }
  const phrases = Array.from({ length: 500 }, (_, n) => `${n}`.padEnd(200, 'x'))
  for (let n = 10; n < 25; n++) {
    await createGuardrail(grid.acme.store, { name: `rail-${n}`, provider: 'phrases', config: { phrases } })
  }

  for (
    const [tool, name, count] of [['admin_list_skills', 'skills', 1_000], [
      'admin_list_guardrails',
      'guardrails',
      15,
    ]] as const
  ) {
    const first = await list(tool)
    const rest = await list(tool, { cursor: first.next_cursor })
    const names = [...first[name], ...rest[name]].map((entry: { name: string }) => entry.name)

    expect(new TextEncoder().encode(JSON.stringify(first)).length).toBeLessThan(1_001_000)
    expect(names).toEqual(names.toSorted())
    expect([new Set(names).size, first.total, rest.total, rest.next_cursor]).toEqual([count, count, count, undefined])
  }
})

async function list(tool: string, args: Record<string, unknown> = {}, era?: (typeof eras)[number]) {
  return (await callTool(grid, grid.acme.adminKey, tool, args, era)).text
}

/** Returns the names on each page of `limit` entries. */
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

/** Inserts rows like those the grid creates, 1,000 per statement. */
async function addAgents(count: number): Promise<void> {
  const agents = Array.from({ length: count }, (_, n) => ({ id: newId(), alias: `robot-${10_000 + n}` }))
  for (let at = 0; at < count; at += 1_000) {
    await grid.store.write([{
      sql: `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, description, created_at)
        SELECT ?, value->>'id', value->>'alias', 'mcp', 'private', 'auto_approve', 'One of many', ? FROM json_each(?)`,
      args: [grid.acme.id, grid.clock.now, JSON.stringify(agents.slice(at, at + 1_000))],
      rows: 1_000,
    }, {
      sql: `INSERT INTO agent_numbers (account_id, agent_id)
        SELECT account_id, id FROM agents WHERE account_id = ? ON CONFLICT DO NOTHING`,
      args: [grid.acme.id],
      rows: 1_000,
    }])
  }
}
