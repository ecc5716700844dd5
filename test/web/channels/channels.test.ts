/** Channel pages. */
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'

let grid: TestGrid
let channels: string
beforeEach(async () => {
  grid = await testGrid()
  channels = `/accounts/${grid.acme.id}/channels`
})

const make = async (name: string, members: string[] = [], account = grid.acme) =>
  (await createChannel(account.store, { name, members })).channel.id
const membersOf = async (id: string) =>
  (await grid.acme.store.read.channels.members(id, 1_000)).map(({ alias }) => alias)

test('a new channel has the checked members, and is in the list', async () => {
  const ann = await signedInWithRole(grid, 'owner')

  const page = await ann.submit(`${channels}/new`, [
    ['name', '#General'],
    ['description', 'all of us'],
    ['members', grid.alice.id],
    ['members', grid.bob.id],
  ])

  expect(page.at).toMatch(/\/channels\/[0-9a-f-]{36}\?done=channel-created$/)
  expect(page.text).toContain('#general')
  expect(page.text).toContain('@alice')
  expect((await ann.open(channels)).text).toMatch(/#general all of us 2/)
  expect(await activityOf(grid)).toEqual([{
    tool: 'admin_create_channel',
    outcome: 'ok',
    by: 'user session',
    input: { name: '#General', description: 'all of us', members: [grid.alice.id, grid.bob.id] },
  }])
})

test.each([
  ['a bad name', { name: 'No Spaces' }, 400, 'A channel name has'],
  ['a name that is taken', { name: 'taken' }, 409, 'The account has a channel #taken'],
  ['an unknown member', { name: 'fresh', members: '@alice @nobody' }, 404, "Agent '@nobody' not found"],
  ['an agent of another account', { name: 'fresh', members: 'eve' }, 404, "Agent 'eve' not found"],
  ['a long description', { name: 'fresh', description: 'x'.repeat(501) }, 400, 'at most 500 characters'],
])('a channel with %s causes an error at its field, and the form keeps its values', async (_, fields, status, text) => {
  await make('taken')
  const ann = await signedInWithRole(grid, 'admin')

  const page = await ann.submit(`${channels}/new`, { description: 'kept', ...fields })

  expect(page.status).toBe(status)
  expect(page.text).toContain(text)
  expect(page.html).toContain(`value="${fields.name}"`)
  expect(page.html).toMatch(/class="error"/)
  expect(await grid.acme.store.read.channels.total()).toBe(1)
  expect((await activityOf(grid)).map(({ outcome }) => outcome)).not.toContain('ok')
})

test('members are added to a channel by checkbox and by alias, and removed one by one', async () => {
  const id = await make('general', ['alice'])
  await grid.acme.agent('carol')
  const ann = await signedInWithRole(grid, 'admin')
  const path = `${channels}/${id}/members`

  const added = await ann.submit(path, [['members', grid.bob.id], ['members', '@Carol, alice']], path)
  expect(added.at).toBe(`${path}?done=members-added`)
  expect(await membersOf(id)).toEqual(['alice', 'bob', 'carol'])

  const removed = await postWithToken(ann, `${path}/remove`, { members: grid.alice.id })
  expect(removed.at).toBe(`${path}?done=member-removed-from-channel`)
  expect(await membersOf(id)).toEqual(['bob', 'carol'])
  expect((await activityOf(grid)).map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
    'change_channel_members ok',
    'change_channel_members ok',
  ])
})

test("concurrent changes of a channel's members are all applied", async () => {
  const id = await make('general', ['alice'])
  const [ann, amy] = [await signedInWithRole(grid, 'owner'), await signedInWithRole(grid, 'admin')]
  await grid.acme.agent('carol')

  const pages = await Promise.all([
    postWithToken(ann, `${channels}/${id}/members`, { members: 'bob' }),
    postWithToken(amy, `${channels}/${id}/members`, { members: 'bob carol' }),
    postWithToken(amy, `${channels}/${id}/members/remove`, { members: 'alice' }),
  ])

  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await membersOf(id)).toEqual(['bob', 'carol'])
})

test("a channel's description can be changed, and the channel can be deleted", async () => {
  const id = await make('general', ['alice'])
  const ann = await signedInWithRole(grid, 'owner')
  const path = `${channels}/${id}`

  const saved = await ann.submit(`${path}/settings`, { description: 'for everybody\r\nand more' })
  const deleted = await ann.submit(`${path}/settings`, {}, `${path}/delete`)

  expect(saved.at).toBe(`${path}/settings?done=saved`)
  expect(saved.html).toContain('for everybody\nand more')
  expect(deleted.at).toBe(`${channels}?done=channel-deleted`)
  expect((await ann.open(path)).status).toBe(404)
  expect((await activityOf(grid)).map(({ tool }) => tool)).toEqual(['update_channel', 'admin_delete_channel'])
})
