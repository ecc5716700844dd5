/** The sentences in which the activity log describes calls. */
import { readdirSync, readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { type ErrorCode, GridError } from '../../../src/errors.ts'
import { features } from '../../../src/features.ts'
import { recordActivity } from '../../../src/grid/activity.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { newId } from '../../../src/lib/id.ts'
import { hasPhrase } from '../../../src/web/accounts/activity-sentences.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { signedInByEmail } from '../../support/people.ts'

let grid: TestGrid
let ann: Browser
let path: string
beforeAll(async () => {
  grid = await testGrid()
  path = `/accounts/${grid.acme.id}/activity`
  ann = await signedInByEmail(grid, 'ann@acme.example')
})

/** Logs a call. Returns the call's sentence as HTML. */
const sentenceHtml = async (tool: string, input: unknown, outcome = 'ok') => {
  const run = () => outcome === 'ok' ? Promise.resolve() : Promise.reject(new GridError(outcome as ErrorCode, ''))
  await recordActivity(grid.acme.store, { tool, arguments: input, requestId: null }, run).catch(() => {})
  const { html } = await ann.open(path)
  return html.match(/<span class="happened">(.*?)<\/span><details/s)![1]
}
const sentence = async (...call: Parameters<typeof sentenceHtml>) =>
  (await sentenceHtml(...call)).replace(/<[^>]+>/g, '')

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
  ['set_member_role', { userId: newId(), role: 'viewer' }, 'Changed the role of someone to viewer'],
  ['what_is_new', { alias: 'alice' }, 'Called what is new'],
  ['admin_create_agent', { alias: { name: ['x'] } }, 'Created an agent'],
  ['admin_delete_agent', ['no object'], 'Deleted an agent'],
])('the activity log describes %s %j in a sentence', async (tool, input, expected) => {
  expect(await sentence(tool, input)).toBe(expected)
})

test('the activity log shows names instead of ids, with a link while the entity exists', async () => {
  const bob = (await grid.acme.store.read.agents.byAlias('bob'))!.id
  expect(await sentenceHtml('admin_delete_agent', { id: bob })).toBe(
    `Deleted <a href="/accounts/${grid.acme.id}/agents/bob">@bob</a>`,
  )

  expect(await sentence('admin_set_agent_skills', { agent_id: bob, skills: [] })).toBe('Set the skills of @bob to none')

  await grid.acme.agent('ghost')
  const ghost = (await grid.acme.store.read.agents.byAlias('ghost'))!.id
  await deleteAgent(grid.acme.store, 'ghost')
  expect(await sentenceHtml('update_agent', { agent: ghost })).toBe(
    'Changed the settings of <strong>@ghost</strong> <span class="soft">(deleted)</span>',
  )
})

test('the activity log describes a failed call with its reason', async () => {
  expect(await sentence('admin_create_agent', { alias: 'alice' }, 'alias_taken')).toBe(
    'Could not create @alice alias taken',
  )
  expect(await sentence('leave_account', {}, 'last_owner')).toBe(
    'Could not leave the account the account needs another owner',
  )
})

test('the activity log reveals nothing about ids of other accounts', async () => {
  const eve = (await grid.evil.store.read.agents.byAlias('eve'))!.id
  const ed = (await grid.store.global.users.byEmail('ed@evil.example'))!.id

  expect(await sentence('admin_delete_agent', { id: eve })).toBe('Deleted an agent')
  expect(await sentence('remove_member', { userId: ed })).toBe('Removed someone from the account')
})

test('the activity log has a phrase for every call in the source', () => {
  const source = ['web', 'grid', 'mcp', 'oauth', 'cli', ...features.map(({ name }) => `features/${name}`)].flatMap((
    folder,
  ) =>
    readdirSync(`src/${folder}`, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
      .map((file) => readFileSync(`src/${folder}/${file}`, 'utf8'))
  ).join('\n')
  const named = [...source.matchAll(/\.record\(\s*'([a-z_]+)'|\btool: '([a-z_-]+)'|\bname: '(admin_[a-z_]+)'/g)]
  const commands = [...source.matchAll(/accountCommand\(\{\s*name: '([a-z-]+)'/g)]
  const tools = [...named, ...commands].map(([, ...found]) => found.find(Boolean)!)

  expect(tools.length).toBeGreaterThan(35)
  expect(tools.filter((tool) => !hasPhrase(tool, features.flatMap(({ web }) => web ?? [])))).toEqual([])
})
