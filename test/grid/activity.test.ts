/** Admin calls in their account's activity log. See docs/protocol/mcp.md, "Activity log". */
import { beforeEach, describe, expect, test } from 'vitest'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import type { Activity } from '../../src/store/account/activity.ts'
import { type Args, calls as allCalls, validArguments } from '../support/calls.ts'
import { dump, rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { type Era, eras, mcp, toolResult } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
  const { acme } = grid
  await acme.agent('mate')
  await call('admin_create_channel', { name: 'home' })
  for (const name of ['own-0', 'own-1']) await createGuardrail(acme.store, { name, provider: 'pii' })
})

const adminTools = allCalls.filter(({ door, caller }) => door === 'mcp' && caller === 'admin')
const changes = adminTools.filter(({ name }) => !name.startsWith('admin_list_')).map((tool) =>
  [tool.name, tool] as const
)
const names = { alias: 'mate', name: 'home', members: ['mate'], guardrails: ['own-0'], skills: ['sums'] }
const newNames = { alias: 'fresh-agent', name: 'fresh-channel' }
const argsOf = (tool: typeof adminTools[number]) =>
  validArguments(tool, tool.name.includes('create') ? newNames : names)

describe.each(eras)('in the %s protocol era', (era) => {
  test('each admin call is logged once, in order, with its arguments and outcome', async () => {
    const before = (await log()).length
    const calls: [tool: string, args: Args, outcome: string][] = [
      ...adminTools.filter(({ name }) => !/delete|members$/.test(name))
        .map((tool): [string, Args, string] => [tool.name, argsOf(tool), 'ok']),
      ['admin_set_channel_members', { name: 'fresh-channel', members: ['mate', 'alice'] }, 'ok'],
      ['admin_create_agent', { alias: 'fresh-agent' }, 'alias_taken'],
      ['admin_create_agent', { alias: 'eve' }, 'alias_taken'],
      ['admin_create_agent', { alias: 'admin' }, 'alias_reserved'],
      ['admin_create_agent', { alias: 'No' }, 'invalid_alias'],
      ['admin_create_agent', {}, 'invalid_input'],
      ['admin_list_agents', { accountId: grid.evil.id }, 'invalid_input'],
      ['admin_create_channel', { name: 'home' }, 'channel_taken'],
      ['admin_create_channel', { name: 'other', members: ['mate', 'nobody'] }, 'agent_not_found'],
      ['admin_set_agent_skills', { id: grid.eve.id, skills: [] }, 'agent_not_found'],
      ['admin_set_agent_guardrails', { alias: 'mate', guardrails: ['none'] }, 'guardrail_not_found'],
      ['admin_set_channel_members', { name: 'none', members: [] }, 'channel_not_found'],
      ['admin_delete_agent', { alias: 'fresh-agent' }, 'ok'],
      ['admin_delete_agent', { alias: 'fresh-agent' }, 'agent_not_found'],
      ['admin_delete_channel', { name: 'home' }, 'ok'],
      ['admin_delete_channel', { name: 'home' }, 'channel_not_found'],
    ]

    const requestIds: string[] = []
    for (const [tool, args] of calls) requestIds.push((await call(tool, args, era)).requestId)

    const left = (await log()).slice(before)
    expect(left.map(({ tool, outcome }) => [tool, outcome])).toEqual(calls.map(([tool, , outcome]) => [tool, outcome]))
    expect(left.map(({ requestId }) => requestId)).toEqual(requestIds)
    expect(new Set(requestIds).size).toBe(calls.length)
    expect(left.map((row) => JSON.parse(row.arguments))).toEqual(calls.map(([, args]) => args))
  })

  test('a call that fails with an internal error is logged as internal', async () => {
    await rows(grid, 'ALTER TABLE skills RENAME TO elsewhere')

    const { code } = await call('admin_list_skills', {}, era)

    expect(code).toBe('internal')
    expect((await log()).at(-1)).toMatchObject({ tool: 'admin_list_skills', outcome: 'internal' })
  })
})

test.each([
  ['the token of a remote agent', { alias: 'far', type: 'a2a', remoteUrl: 'https://x.example', remoteToken: 'CANARY' }],
  ['a token that is refused', { alias: 'far', remoteToken: 'CANARY' }],
  ['fields with the names of secrets', { apiKey: 'CANARY', password: 'CANARY', client_secret: ['CANARY'] }],
  ['the password of an address', { alias: 'far', type: 'a2a', remoteUrl: 'https://user:CANARY@x.example' }],
])('the activity log does not contain %s', async (_, args) => {
  await call('admin_create_agent', args)

  expect((await log()).at(-1)!.tool).toBe('admin_create_agent')
  expect(await dump(grid, grid.acme)).not.toContain('CANARY')
  expect(grid.logs.join('\n')).not.toContain('CANARY')
})

test('API keys are redacted in every logged argument', async () => {
  const keys = [grid.acme.adminKey, grid.bob.key]
  for (const key of keys) {
    await call('admin_create_agent', { alias: key, description: `my key is ${key}.`, [key]: 1 })
    await call('admin_delete_agent', { id: key })
    await call('admin_set_agent_skills', { alias: 'mate', skills: [{ name: 'x', description: key.repeat(9) }] })
  }

  const text = JSON.stringify(await log())
  for (const key of keys) expect(text).not.toContain(key.slice(9, -4))
  expect(text).toContain(`grid_adm_…${grid.acme.adminKey.slice(-4)}`)
})

describe('when the activity log cannot be written', () => {
  beforeEach(() =>
    rows(grid, "CREATE TRIGGER no_log BEFORE INSERT ON activity BEGIN SELECT RAISE(ABORT, 'no log today'); END")
  )

  test.each(changes)('without an activity log, %s fails and changes nothing', async (name, tool) => {
    const before = await dump(grid, grid.acme)

    const { code } = await call(name, argsOf(tool))

    expect(code).toBe('write_conflict')
    expect(await dump(grid, grid.acme)).toBe(before)
    await rows(grid, 'DROP TRIGGER no_log')
    expect((await call(name, argsOf(tool))).code).toBeUndefined()
  })

  test('without an activity log, a read-only call fails too', async () => {
    expect((await call('admin_list_agents', {})).code).toBe('write_conflict')
  })
})

test.each([
  ['admin_create_agent', { alias: 'carol' }, 'alias_taken'],
  ['admin_delete_agent', { alias: 'mate' }, 'agent_not_found'],
  ['admin_create_channel', { name: 'other' }, 'channel_taken'],
  ['admin_delete_channel', { name: 'home' }, 'channel_not_found'],
])('of 20 concurrent calls of %s, one succeeds and is logged as ok', async (tool, args, refusal) => {
  const before = (await log()).length

  const codes = await Promise.all(Array.from({ length: 20 }, async () => (await call(tool, args)).code ?? 'ok'))

  const outcomes = (await log()).slice(before).map(({ outcome }) => outcome)
  expect(codes.sort()).toEqual([...Array(19).fill(refusal), 'ok'].sort())
  expect(outcomes.sort()).toEqual(codes)
})

/** Returns the account's log, oldest row first. */
async function log(): Promise<Activity[]> {
  return (await grid.acme.store.read.activity.list()).reverse()
}

async function call(tool: string, args: Record<string, unknown>, era: Era = 'legacy') {
  const { headers, body } = await mcp(grid, grid.acme.adminKey, 'tools/call', { name: tool, arguments: args }, era)
  return { code: toolResult(body.result, tool).code, requestId: headers.get('X-Request-Id')! }
}
