/** A channel's posts on its page. See docs/people.md, "People who read". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changeChannelMembers, createChannel } from '../../../src/grid/channels/channels.ts'
import { say } from '../../support/conversations.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { following } from '../../support/live.ts'
import { callTool } from '../../support/mcp.ts'
import { person, signedIn } from '../../support/people.ts'
import { personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let unfollow: () => Promise<void>
let channel: string
let page: string
beforeEach(async () => {
  grid = await testGrid()
  unfollow = following(grid.store)
  channel = (await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })).channel.id
  page = `/accounts/${grid.acme.id}/channels/${channel}`
})

afterEach(() => unfollow())

const post = (text: string) => say(grid, storeOf(grid, grid.alice), '#ops', text)

test('a member of a channel reads the posts since joining and can answer, and a viewer sees only numbers', async () => {
  const mel = await personWithAlias(grid, 'mel')
  await changeChannelMembers(grid.acme.store, { channel, add: ['mel'] })
  await post('The disk is full.')
  const viewer = await signedIn(grid, await person(grid, { role: 'viewer' }))
  const browser = await signedIn(grid, mel.person)

  const read = await browser.open(page)
  const seen = await viewer.open(page)

  expect(read.text).toContain('The disk is full.')
  const [, answer] = read.html.match(/<form[^>]*action="([^"]*\/conversations\/\d+\/messages)"/)!
  const sent = await browser.submit(page, { text: 'I am on it.' }, answer)
  expect(sent.status).toBe(200)
  expect(seen.text).not.toContain('The disk is full.')
  expect(seen.text).toContain('You see numbers only')
  expect(seen.html).not.toMatch(/<form[^>]*action="[^"]*\/messages"/)
})

test("a channel's creator is a member, and writes the first post on the channel's page", async () => {
  const mel = await personWithAlias(grid, 'mel', { role: 'admin' })
  const browser = await signedIn(grid, mel.person)
  const base = `/accounts/${grid.acme.id}`

  const made = await browser.submit(`${base}/channels/new`, { name: 'night-shift', members: '@alice' })
  const sent = await browser.send(made, { text: 'Who is awake?' }, `${base}/write`)
  const others = await browser.open(page)

  expect(made.text).toContain('Members @alice @mel')
  expect(sent.status).toBe(200)
  expect((await callTool(grid, grid.alice.key, 'read_messages')).text).toMatchObject([{ message: 'Who is awake?' }])
  expect(others.html).not.toContain('textarea')
})

test('a channel with many posts has several pages, and names its members', async () => {
  const mel = await personWithAlias(grid, 'mel')
  await changeChannelMembers(grid.acme.store, { channel, add: ['mel'] })
  const browser = await signedIn(grid, mel.person)
  expect((await browser.open(page)).text).toContain('No messages yet')
  for (let n = 1; n <= 55; n++) await post(`Post ${n}.`)

  const newest = await browser.open(page)
  const older = await browser.open(newest.html.match(/href="([^"]*before=\d+)"/)![1])

  expect(newest.text).toContain('Post 55.')
  expect(newest.text).not.toContain('Post 5.')
  expect(older.at).toMatch(new RegExp(`^${page}\\?before=`))
  expect(older.text).toContain('Post 5.')
  expect(newest.text).toMatch(/Members @alice @bob @mel person/)
})
