/** A new agent with a trusted alias does not inherit the trust. See docs/protocol/messages.md, "Pending aliases". */
import { beforeEach, expect, test } from 'vitest'
import { confirmAccess, removeAccess, updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { attentionOf, findConditions } from '../../src/grid/attention/attention.ts'
import { rows } from '../support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { person } from '../support/people.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const open = { visibility: 'public', accessPolicy: 'allow_list' } as const
const later = { alias: 'later', pending: true }
const eve = { alias: 'eve', pending: false }
const asked = { kind: 'access', subject: '@desk @later', of: { alias: 'desk', partner: 'later' } }
const gone = { message: '@later is no longer on the access list of @desk, or no agent has it.' }
const atDesk = { agent: 'desk', partner: 'later' }

test('setting an access list does not reveal which aliases exist', async () => {
  const create = async (alias: string, accessList: string[]) => {
    const { api_key: _, agent_id, ...answer } = await admin('admin_create_agent', { ...open, alias, accessList })
    return JSON.stringify(answer).replaceAll(alias, 'ALIAS').replaceAll(agent_id, 'ID')
  }

  expect(await create('desk', ['@Later'])).toBe(await create('other', ['eve']))
  expect([await listOf('desk'), await listOf('other')]).toEqual([[later], [eve]])
})

test('two agents can put each other on their allow lists, even before one of them exists', async () => {
  const desk = await grid.acme.agent('desk', { ...open, accessList: ['later'] })
  const partner = await grid.evil.agent('later', { ...open, accessList: ['desk'] })

  expect(await send(partner, '@desk')).toBe('recipient_not_found')
  await confirmAccess(grid.acme.store, atDesk)
  expect(await send(partner, '@desk')).toBe('sent')
  expect(await send(desk, '@later')).toBe('sent')
})

test('the owner is asked about an agent that takes a pending alias, and can admit the agent by confirming', async () => {
  await grid.acme.agent('desk', { ...open, accessList: ['eve', 'later'] })
  expect(await conditions()).toEqual([])
  const partner = await grid.evil.agent('later')

  expect(await conditions()).toMatchObject([asked])
  expect(await send(partner, '@desk')).toBe('recipient_not_found')
  expect(await send(grid.eve, '@desk')).toBe('sent')
  await confirmAccess(grid.acme.store, atDesk)
  expect(await conditions()).toEqual([])
  expect(await send(partner, '@desk')).toBe('sent')
})

test('removing a pending alias from an access list keeps out the agent that took the alias', async () => {
  await grid.acme.agent('desk', { ...open, accessList: ['later'] })
  const partner = await grid.evil.agent('later')

  for (const _ of [1, 2]) await removeAccess(grid.acme.store, atDesk)
  expect([await conditions(), await listOf('desk')]).toEqual([[], []])
  expect(await send(partner, '@desk')).toBe('recipient_not_found')
  await expect(confirmAccess(grid.acme.store, atDesk)).rejects.toMatchObject(gone)
})

test('only owners and admins are asked about a pending alias, and only while confirming would have an effect', async () => {
  const desk = await grid.acme.agent('desk', { ...open, accessList: ['later'] })
  const partner = await grid.evil.agent('later')
  const seenBy = async (role: 'admin' | 'member') => {
    const { actor } = await person(grid, { role })
    return (await attentionOf(grid.store.account(grid.acme.id, actor(role)), undefined)).open.length
  }
  expect([await seenBy('admin'), await seenBy('member')]).toEqual([1, 0])

  const without = async (change: () => Promise<unknown>, back: () => Promise<unknown>) => {
    await change()
    expect(await conditions()).toEqual([])
    await back()
    expect(await conditions()).toMatchObject([asked])
  }
  const evil = (state: string) => rows(grid, 'UPDATE accounts SET state = ? WHERE id = ?', [state, grid.evil.id])
  const update = (visibility: 'public' | 'private') => updateAgent(grid.acme.store, { agent: 'desk', visibility })
  await without(() => evil('provisional'), () => evil('claimed'))
  await without(() => update('private'), () => update('public'))
  await without(() => deleteAgent(grid.evil.store, partner.id), () => grid.evil.agent('later'))
  await deleteAgent(grid.acme.store, desk.id)
  expect(await conditions()).toEqual([])
})

test('nobody is asked when an agent of the same account takes a pending alias', async () => {
  await grid.acme.agent('desk', { ...open, accessList: ['later'] })
  await grid.acme.agent('later')
  expect(await conditions()).toEqual([])
})

test('a block list blocks an agent that takes a listed alias, and nobody is asked', async () => {
  await grid.acme.agent('desk', { visibility: 'public', accessPolicy: 'block_list', accessList: ['later'] })
  const partner = await grid.evil.agent('later')

  expect(await send(partner, '@desk')).toBe('recipient_not_found')
  expect(await conditions()).toEqual([])
})

test('saving an allow list again keeps its aliases pending, and on a block list no alias is pending', async () => {
  await grid.acme.agent('desk', { ...open, accessList: ['later'] })
  await grid.evil.agent('later')
  const update = (accessPolicy: 'allow_list' | 'block_list', accessList: string[]) =>
    updateAgent(grid.acme.store, { agent: 'desk', accessPolicy, accessList })

  await update('allow_list', ['later', 'eve'])
  expect(await listOf('desk')).toEqual([eve, later])
  await update('allow_list', ['later'])
  expect(await listOf('desk')).toEqual([later])
  await update('block_list', ['later'])
  expect(await listOf('desk')).toEqual([{ alias: 'later', pending: false }])
})

test('an alias stays trusted only while it is reserved for its former account', async () => {
  const partner = await grid.evil.agent('later')
  await grid.acme.agent('desk', { ...open, accessList: ['later'] })
  await deleteAgent(grid.evil.store, partner.id)
  expect(await send(await grid.evil.agent('later'), '@desk')).toBe('sent')

  // Simulates the end of the account's removal.
  await grid.evil.store.write(grid.evil.store.change.removal.end())
  expect(await listOf('desk')).toEqual([later])
  await expect(confirmAccess(grid.acme.store, atDesk)).rejects.toMatchObject(gone)
  await grid.evil.agent('later')
  expect([await listOf('desk'), await conditions()]).toMatchObject([[later], [asked]])
})

async function conditions() {
  return (await findConditions(grid.acme.store)).filter(({ kind }) => kind === 'access')
}

async function admin(tool: string, fields: Record<string, unknown>) {
  // deno-lint-ignore no-explicit-any
  return (await callTool(grid, grid.acme.adminKey, tool, fields)).text as any
}

async function send({ key }: Pick<TestAgent, 'key'>, to: string): Promise<string> {
  return (await callTool(grid, key, 'send_message', { to, message: 'hi' })).code ?? 'sent'
}

async function listOf(alias: string) {
  const agent = await grid.acme.store.read.agents.byAlias(alias)
  return await grid.acme.store.read.agentSettings.accessList(agent!.id)
}
