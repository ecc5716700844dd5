/** Errors of the admin tools. A refused call changes nothing. */
import { beforeEach, expect, test } from 'vitest'
import { setAgentSkills } from '../../src/grid/agents/skills.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { accountTables } from '../support/tripwire.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
  const { store } = grid.acme
  await createChannel(store, { name: 'general', members: ['alice', 'bob'] })
  await createGuardrail(store, { name: 'short', provider: 'length', config: { maxCharacters: 500 } })
  await setAgentGuardrails(store, { agent: 'bob', guardrails: [{ ref: 'short' }] })
  await setAgentSkills(store, { agent: 'bob', skills: [{ name: 'tax' }] })
})

const noAgent = "Agent 'nobody' not found. Nothing was changed. Use admin_list_agents to see the agents."
const noChannel = "Channel 'nothing' not found. Nothing was changed. Use admin_list_channels to see the channels."
const noGuardrail = "Guardrail 'none' not found. Nothing was changed. Use admin_list_guardrails to see the guardrails."
const refusedTargets = [
  'http://partner.example/',
  'https://127.0.0.1/',
  'https://partner.example:6379/',
  'https://ann:pw@partner.example/',
]
const eitherIdOrAlias = 'The input needs either id or alias, and not both.'
const eitherIdOrName = 'The input needs either id or name, and not both.'
const nameRule = '3 to 32 characters: lower-case letters, digits and hyphens, with a letter or digit at both ends.'
const remoteUrlMissing = 'An agent of type a2a needs a remoteUrl: the address of its A2A server.'
const remoteUrlRule =
  'remoteUrl must be an https address without user and password, on an allowed port and not in a private network.'

test.each([
  ['admin_list_agents', { limit: 0 }, 'invalid_input', 'limit must be at least 1.'],
  ['admin_list_channels', { limit: 'five' }, 'invalid_input', 'limit must be a number.'],
  ['admin_list_channels', { cursor: 'a\0b' }, 'invalid_input', 'cursor must be plain Unicode text.'],
  ['admin_list_skills', { agent: 'bob' }, 'invalid_input', 'admin_list_skills has no argument agent. It takes cursor.'],
  ['admin_create_agent', {}, 'invalid_input', 'alias is missing.'],
  ['admin_create_agent', { alias: 'Zoe' }, 'invalid_alias', `An alias has ${nameRule}`],
  ['admin_create_agent', { alias: 'admin' }, 'alias_reserved', 'The alias @admin is reserved. Choose another.'],
  ['admin_create_agent', { alias: 'bob' }, 'alias_taken', 'The alias @bob is taken. Choose another.'],
  ['admin_create_agent', { alias: 'eve' }, 'alias_taken', 'The alias @eve is taken. Choose another.'],
  ['admin_create_agent', { alias: 'zoe', type: 'bot' }, 'invalid_input', 'type must be one of mcp, a2a.'],
  ['admin_create_agent', { alias: 'zoe', type: 'a2a' }, 'invalid_input', remoteUrlMissing],
  ['admin_create_agent', { alias: 'zoe', type: 'a2a', remoteUrl: 'ftp://x' }, 'invalid_input', remoteUrlRule],
  ...refusedTargets.map((remoteUrl): [string, object, string, string] => [
    'admin_create_agent',
    { alias: 'zoe', type: 'a2a', remoteUrl },
    'invalid_input',
    remoteUrlRule,
  ]),
  [
    'admin_create_agent',
    { alias: 'zoe', remoteToken: 'x' },
    'invalid_input',
    'Only an agent of type a2a has a remoteToken.',
  ],
  [
    'admin_create_agent',
    { alias: 'zoe', remoteUrl: 'https://remote.example' },
    'invalid_input',
    'Only an agent of type a2a has a remoteUrl.',
  ],
  [
    'admin_create_agent',
    { alias: 'zoe', role: 'owner' },
    'invalid_input',
    expect.stringContaining('admin_create_agent has no argument role. It takes alias, type, '),
  ],
  ['admin_create_agent', { alias: 'zoe', skills: [5] }, 'invalid_input', 'skills.0 must be a string or an object.'],
  ['admin_create_agent', { alias: 'zoe', skills: ['tax', {}] }, 'invalid_input', 'skills.1.name is missing.'],
  ['admin_create_agent', { alias: 'zoe', skills: [''] }, 'invalid_input', 'skills.0 must not be empty.'],
  [
    'admin_create_agent',
    { alias: 'zoe', skills: Array(201).fill('tax') },
    'invalid_input',
    'skills must have at most 200 entries.',
  ],
  [
    'admin_create_agent',
    { alias: 'zoe', description: 'x'.repeat(501) },
    'invalid_input',
    'A description can have at most 500 characters.',
  ],
  ['admin_delete_agent', {}, 'invalid_input', eitherIdOrAlias],
  ['admin_delete_agent', { id: 'bob', alias: 'bob' }, 'invalid_input', eitherIdOrAlias],
  ['admin_delete_agent', { agent_id: 'x', id: 'y' }, 'invalid_input', 'agent_id and id differ. Give id alone.'],
  ['admin_delete_agent', { agent_id: 'nobody' }, 'agent_not_found', noAgent],
  ['admin_delete_agent', { alias: 'bob\0' }, 'invalid_input', 'alias must be plain Unicode text.'],
  ['admin_delete_agent', { alias: 'nobody' }, 'agent_not_found', noAgent],
  ['admin_create_channel', { name: 'x' }, 'invalid_input', `A channel name has ${nameRule}`],
  [
    'admin_create_channel',
    { name: '#general' },
    'channel_taken',
    'The account has a channel #general. Choose another name.',
  ],
  ['admin_create_channel', { name: 'fresh', members: ['bob', 'nobody'] }, 'agent_not_found', noAgent],
  ['admin_delete_channel', {}, 'invalid_input', eitherIdOrName],
  ['admin_delete_channel', { name: 'nothing' }, 'channel_not_found', noChannel],
  ['admin_set_agent_skills', { alias: 'nobody', skills: ['fresh'] }, 'agent_not_found', noAgent],
  ['admin_set_agent_guardrails', { alias: 'bob', guardrails: ['none'] }, 'guardrail_not_found', noGuardrail],
  [
    'admin_set_agent_guardrails',
    { alias: 'bob', guardrails: [{ direction: 'both' }] },
    'invalid_input',
    'guardrails.0 needs either id or name, and not both.',
  ],
  [
    'admin_set_agent_guardrails',
    { alias: 'bob', guardrails: [{ name: 'short', action: 'shout' }] },
    'invalid_input',
    'guardrails.0.action must be one of block, hold, redact, flag.',
  ],
  ['admin_set_channel_members', { name: 'nothing', members: [] }, 'channel_not_found', noChannel],
])('%s with the arguments %j is refused with %s, and changes nothing', async (name, args, code, message) => {
  const before = await state()

  const called = await admin(name, args)

  expect([called.code, called.message, called.more]).toEqual([code, message, undefined])
  expect(await state()).toEqual(before)
})

test('a change of members or guardrails is refused if one name among ten is unknown', async () => {
  const own = Array.from({ length: 9 }, (_, n) => `own-${n}`)
  for (const name of own) {
    await grid.acme.agent(name)
    await createGuardrail(grid.acme.store, { name, provider: 'invisible-text' })
  }
  const before = await state()
  const tenWith = (unknown: string) => [...own.slice(0, 5), unknown, ...own.slice(5)]

  for (const unknown of ['nobody', 'eve', grid.eve.id]) {
    const members = tenWith(unknown)
    expect((await admin('admin_set_channel_members', { name: 'general', members })).code).toBe('agent_not_found')
    expect((await admin('admin_create_channel', { name: 'fresh', members })).code).toBe('agent_not_found')
  }
  const guardrails = tenWith('none')
  expect((await admin('admin_set_agent_guardrails', { alias: 'bob', guardrails })).code).toBe('guardrail_not_found')
  expect(await state()).toEqual(before)
})

test('setting a list twice has the same result as setting it once, and an empty list removes all entries', async () => {
  const set = async (members: string[], guardrails: string[], skills: string[]) => {
    await admin('admin_set_channel_members', { name: 'general', members })
    await admin('admin_set_agent_guardrails', { alias: 'bob', guardrails })
    await admin('admin_set_agent_skills', { alias: 'bob', skills })
    return await state()
  }

  const aRow = expect.any(String)
  const once = await set(['bob'], ['short'], ['tax'])
  expect(await set(['bob', 'BOB'], ['short', 'short'], ['tax'])).toEqual(once)
  expect(once).toMatchObject({ channel_members: [aRow], agent_guardrails: [aRow], agent_skills: [aRow] })
  expect(await set([], [], [])).toMatchObject({ channel_members: [], agent_guardrails: [], agent_skills: [] })
})

test('no tool result contains a token, a hash or an encrypted token', async () => {
  const created = await admin('admin_create_agent', {
    alias: 'remote-desk',
    type: 'a2a',
    remoteUrl: 'https://remote.example',
    remoteToken: 'canary-1',
  })
  await createGuardrail(grid.acme.store, { name: 'judge', provider: 'openai-moderation', token: 'canary-2' })
  const { body } = await mcp(grid, grid.acme.adminKey, 'tools/list')
  const lists: string[] = body.result.tools.map(({ name }: { name: string }) => name)
    .filter((name: string) => name.startsWith('admin_list_'))

  const answers = JSON.stringify([
    await Promise.all(lists.map((name) => admin(name))),
    await admin('admin_set_agent_guardrails', { alias: 'remote-desk', guardrails: ['judge'] }),
    await admin('admin_set_agent_skills', { alias: 'remote-desk', skills: [] }),
    created.text.agent,
  ])

  expect(lists).toHaveLength(5)
  expect(answers).toContain('judge')
  expect(answers).not.toMatch(/canary|encrypted|tokenIv|AuthTag|tokenKeyId|hash|grid_a(gt|dm)_/i)
  const sealed = await rows(grid, 'SELECT encrypted_token, token_iv FROM agents WHERE account_id = ? AND id = ?', [
    grid.acme.id,
    created.text.agent_id,
  ])
  for (const secret of Object.values(sealed[0])) expect(answers).not.toContain(secret)
})

/** Returns the account's rows by table, except credentials and the activity log, which change with each call. */
async function state(): Promise<Record<string, string[]>> {
  const tables = accountTables.filter((table) => table !== 'credentials' && table !== 'activity')
  const found = await Promise.all(tables.map(async (table) => {
    const rowsOf = await rows(grid, `SELECT * FROM "${table}" WHERE "account_id" = ?`, [grid.acme.id])
    return [table, rowsOf.map((row) => JSON.stringify(row)).sort()] as const
  }))
  return Object.fromEntries(found)
}

function admin(name: string, args: Record<string, unknown> = {}) {
  return callTool(grid, grid.acme.adminKey, name, args)
}
