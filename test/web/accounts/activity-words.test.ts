/** The sentences of the activity log. */
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErrorCode, GridError } from '../../../src/errors.ts'
import { recorded } from '../../../src/grid/activity.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { newId } from '../../../src/lib/id.ts'
import { hasWords } from '../../../src/web/accounts/activity-words.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { signedInAs } from '../../support/people.ts'

let grid: TestGrid
let ann: Browser
let path: string
beforeAll(async () => {
  grid = await testGrid()
  path = `/accounts/${grid.acme.id}/activity`
  ann = await signedInAs(grid, 'ann@acme.example')
})
afterAll(() => grid.close())

/** The sentence of a call that was just logged, as HTML. */
const told = async (tool: string, input: unknown, outcome = 'ok') => {
  const run = () => outcome === 'ok' ? Promise.resolve() : Promise.reject(new GridError(outcome as ErrorCode, ''))
  await recorded(grid.acme.store, { tool, arguments: input, requestId: null }, run).catch(() => {})
  const { html } = await ann.open(path)
  return html.match(/<span class="happened">(.*?)<\/span><details/s)![1]
}
const words = async (...call: Parameters<typeof told>) => (await told(...call)).replace(/<[^>]+>/g, '')

test.each<[string, unknown, string]>([
  ['admin_create_agent', { alias: '@alice' }, 'Created @alice'],
  [
    'admin_set_agent_skills',
    { alias: 'alice', skills: ['one', { name: 'two' }] },
    'Set the skills of @alice to one, two',
  ],
  ['admin_set_agent_skills', { alias: 'alice', skills: [] }, 'Set the skills of @alice to none'],
  [
    'admin_set_channel_members',
    { name: 'all', members: ['a', 'b', 'c', 'd', 'e'] },
    'Set the members of #all to @a, @b, @c and 2 more',
  ],
  ['create_skill', { name: 'proofreading' }, 'Created skill proofreading'],
  ['delete_skill', { id: newId(), name: 'gone' }, 'Deleted skill gone'],
  ['delete_skill', { id: newId() }, 'Deleted a skill'],
  ['invite_member', { email: 'paul@acme.example', role: 'member' }, 'Invited paul@acme.example as member'],
  ['claim_account', { kept: ['@alice'], discarded: [] }, 'Claimed @alice'],
  ['set_member_role', { userId: newId(), role: 'viewer' }, 'Changed the role of somebody to viewer'],
  ['what_is_new', { alias: 'alice' }, 'Called what is new'],
  ['admin_create_agent', { alias: { name: ['x'] } }, 'Created an agent'],
  ['admin_delete_agent', ['no object'], 'Deleted an agent'],
])('tells %s %j in a sentence', async (tool, input, sentence) => {
  expect(await words(tool, input)).toBe(sentence)
})

test('tells of ids by what they are called, with a link while they are there', async () => {
  const bob = (await grid.acme.store.read.agents.byAlias('bob'))!.id
  expect(await told('admin_delete_agent', { id: bob })).toBe(
    `Deleted <a href="/accounts/${grid.acme.id}/agents/bob">@bob</a>`,
  )

  await grid.acme.agent('ghost')
  const ghost = (await grid.acme.store.read.agents.byAlias('ghost'))!.id
  await deleteAgent(grid.acme.store, 'ghost')
  expect(await told('update_agent', { agent: ghost })).toBe(
    'Changed the settings of <strong>@ghost</strong> <span class="soft">(deleted)</span>',
  )
})

test('tells what was refused, and why', async () => {
  expect(await words('admin_create_agent', { alias: 'alice' }, 'alias_taken')).toBe(
    'Could not create @alicealias taken',
  )
  expect(await words('leave_account', {}, 'last_owner')).toBe('Could not leave the accountthere is no other owner')
})

test('tells nothing of other accounts, whose ids name nobody', async () => {
  const eve = (await grid.evil.store.read.agents.byAlias('eve'))!.id
  const ed = (await grid.store.global.users.byEmail('ed@evil.example'))!.id

  expect(await words('admin_delete_agent', { id: eve })).toBe('Deleted an agent')
  expect(await words('remove_member', { userId: ed })).toBe('Removed somebody from the account')
})

test('has words for every call that the source knows', () => {
  const source = ['web', 'grid', 'mcp', 'oauth', 'cli'].flatMap((folder) =>
    readdirSync(`src/${folder}`).map((file) => readFileSync(`src/${folder}/${file}`, 'utf8'))
  ).join('\n')
  const named = [...source.matchAll(/\.record\(\s*'([a-z_]+)'|\btool: '([a-z_-]+)'|\bname: '(admin_[a-z_]+)'/g)]
  const commands = [...source.matchAll(/changeAccount\(\s*store,\s*'([a-z-]+)'/g)]
  const tools = [...named, ...commands].map(([, ...found]) => found.find(Boolean)!)

  expect(tools.length).toBeGreaterThan(35)
  expect(tools.filter((tool) => !hasWords(tool))).toEqual([])
})
