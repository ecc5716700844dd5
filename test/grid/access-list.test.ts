/** Nobody inherits trust by taking an alias. See docs/protocol/messages.md, "Agents". */
import { beforeEach, expect, test } from 'vitest'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const unknown = { code: 'invalid_input', message: 'accessList names @later, which no agent has.' }

test.each(['allow_list', 'block_list'] as const)('%s takes no alias that nobody has', async (accessPolicy) => {
  const list = { visibility: 'public' as const, accessPolicy, accessList: ['eve', '@Later'] }

  await expect(grid.acme.agent('desk', list)).rejects.toMatchObject(unknown)
  await expect(updateAgent(grid.acme.store, { agent: 'bob', ...list })).rejects.toMatchObject(unknown)
  await grid.evil.agent('later')
  await grid.acme.agent('desk', list)
  expect(await listOf('desk')).toEqual(['eve', 'later'])
})

test('an alias whose agent was deleted cannot be added, but may stay on the same list', async () => {
  const later = await grid.evil.agent('later')
  await grid.acme.agent('desk', { accessPolicy: 'block_list', accessList: ['later'] })
  await deleteAgent(grid.evil.store, later.id)

  const update = (accessPolicy: 'allow_list' | 'block_list', accessList: string[], agent = 'desk') =>
    updateAgent(grid.acme.store, { agent, accessPolicy, accessList })
  await update('block_list', ['later', 'eve'])
  expect(await listOf('desk')).toEqual(['eve', 'later'])
  await expect(update('allow_list', ['later'])).rejects.toMatchObject(unknown)
  await expect(update('block_list', ['later'], 'bob')).rejects.toMatchObject(unknown)
})

test('a new alias is taken off the allow lists that already named it, and stays on block lists', async () => {
  const allows = await grid.acme.agent('allows', { visibility: 'public', accessPolicy: 'allow_list' })
  const blocks = await grid.acme.agent('blocks', { visibility: 'public', accessPolicy: 'block_list' })
  for (const { id } of [allows, blocks]) {
    // As an older version stored it.
    await rows(grid, 'INSERT INTO agent_access (account_id, agent_id, alias) VALUES (?, ?, ?)', [
      grid.acme.id,
      id,
      'later',
    ])
  }
  const later = await grid.evil.agent('later')

  for (const to of ['@allows', '@blocks']) {
    const sent = await callTool(grid, later.key, 'send_message', { to, message: 'hi' })
    expect(sent.code).toBe('recipient_not_found')
  }
  expect([await listOf('allows'), await listOf('blocks')]).toEqual([[], ['later']])
})

async function listOf(alias: string): Promise<string[]> {
  const agent = await grid.acme.store.read.agents.byAlias(alias)
  return await grid.acme.store.read.agentSettings.accessList(agent!.id)
}
