/** The pages of channels. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel, maxMembers } from '../../../src/grid/channels/channels.ts'
import { newId } from '../../../src/lib/id.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'

let grid: TestGrid
let channels: string
beforeEach(async () => {
  grid = await testGrid()
  channels = `/accounts/${grid.acme.id}/channels`
})
afterEach(() => grid.close())

const make = async (name: string, members: string[] = [], account = grid.acme) =>
  (await createChannel(account.store, { name, members })).channel.id
const membersOf = async (id: string) =>
  (await grid.acme.store.read.channels.members(id, 1_000)).map(({ alias }) => alias)

test('a channel is created with the checked members, and is in the list', async () => {
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
])('%s is an error at its field, and the form keeps its values', async (_, fields, status, text) => {
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

test('members are added by checkbox and by alias, and removed one by one', async () => {
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

test('one unknown alias rejects all of them, with an error at the field', async () => {
  const id = await make('general')
  const ann = await signedInWithRole(grid, 'owner')
  const path = `${channels}/${id}/members`

  const page = await ann.submit(path, { members: 'alice eve' })

  expect(page.status).toBe(404)
  expect(page.text).toContain("Agent 'eve' not found")
  expect(page.html).toContain('value="alice eve"')
  expect(await membersOf(id)).toEqual([])
})

test('concurrent changes of the members all take effect', async () => {
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

test('a channel has a maximum number of members', async () => {
  const ids = Array.from({ length: maxMembers }, () => newId())
  await rows(
    grid,
    `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at)
      SELECT ?, value, 'n-' || key, 'mcp', 'private', 'auto_approve', 1 FROM json_each(?)`,
    [grid.acme.id, JSON.stringify(ids)],
  )
  const id = await make('full', ids)
  const ann = await signedInWithRole(grid, 'owner')

  const page = await postWithToken(ann, `${channels}/${id}/members`, { members: 'alice' })

  expect(page.status).toBe(400)
  expect(await grid.acme.store.read.channels.members(id, 1_000)).toHaveLength(maxMembers)
  // Two pages at the same time: the write itself counts, too.
  const { requireAtMost } = grid.acme.store.change.channels
  await grid.acme.store.write([requireAtMost(id, maxMembers)])
  await expect(grid.acme.store.write([requireAtMost(id, maxMembers - 1)])).rejects.toMatchObject({
    code: 'write_conflict',
  })
  const first = await ann.open(`${channels}/${id}/members`)
  expect(first.text).toContain(`1 to 50 of ${maxMembers}`)
  expect((await ann.open(`${channels}/${id}/members?page=10`)).text).toContain(`451 to 500 of ${maxMembers}`)
})

test('the search for new members covers alias and description, and excludes current members', async () => {
  const id = await make('general', ['alice'])
  await grid.acme.agent('carol', { description: 'counts beans' })
  const page = await (await signedInWithRole(grid, 'owner')).open(`${channels}/${id}/members?search=BEANS`)

  expect(page.html).toContain('counts beans')
  expect(page.html).not.toContain(`value="${grid.bob.id}"`)
  expect((await (await signedInWithRole(grid, 'owner')).open(`${channels}/${id}/members?search=alice`)).text)
    .toContain('No agent outside this channel has “alice”')
})

test('the description is changed, and the channel is deleted', async () => {
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

test('a long list has pages, also within a search', async () => {
  for (let n = 0; n < 60; n++) await make(`team-${String(n).padStart(2, '0')}`)
  await make('other')
  const ann = await signedInWithRole(grid, 'viewer')

  const first = await ann.open(`${channels}?search=TEAM`)
  const second = await ann.open(`${channels}?search=TEAM&page=2`)

  expect(first.text).toContain('1 to 50 of 60')
  expect(first.html).toContain(`${channels}?search=TEAM&amp;page=2`)
  expect(second.text).toContain('#team-59')
  expect(second.text).not.toContain('#other')
  expect((await ann.open(`${channels}?search=nothing`)).text).toContain('No name or description contains “nothing”')
  expect((await ann.open(`${channels}?page=9`)).status).toBe(200)
  expect((await ann.open(`${channels}?page=x`)).text).toContain('#other')
})
