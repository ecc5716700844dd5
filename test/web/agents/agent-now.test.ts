/** An agent's page: its current state, and who can see it. See docs/people.md, "People who read". */
import { beforeEach, expect, test } from 'vitest'
import { setPeopleRead } from '../../../src/grid/accounts/people-read.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import { say } from '../../support/conversations.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { lease, release } from '../../support/inbox.ts'
import { person, signedIn } from '../../support/people.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let bob: string
beforeEach(async () => {
  grid = await testGrid()
  bob = `/accounts/${grid.acme.id}/agents/bob`
})

const open = async (role: 'owner' | 'member' | 'viewer', path = bob) =>
  await (await signedIn(grid, await person(grid, { role }))).open(path)
const allowReading = async () => {
  const { account } = await member(grid, { role: 'owner' })
  await setPeopleRead(account, { choice: 'off' })
  await setPeopleRead(account, { choice: 'on' })
}

test("an agent's page shows an owner the last ten messages, including channel posts, oldest first", async () => {
  await allowReading()
  const [alice, bobby] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
  await grid.acme.agent('carol')
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  for (let n = 1; n <= 8; n++) await say(grid, alice, 'bob', `Note ${n}.`)
  await say(grid, alice, 'carol', 'Not for him.')
  await say(grid, alice, '#ops', 'To all.')
  await say(grid, bobby, 'carol', 'From him.')
  await say(grid, bobby, 'alice', 'Thank you.')

  const { text, html } = await open('owner')

  expect([...text.matchAll(/Note \d\.|To all\.|From him\.|Thank you\.|Not for him\./g)].map(([said]) => said)).toEqual([
    ...['Note 2.', 'Note 3.', 'Note 4.', 'Note 5.', 'Note 6.', 'Note 7.', 'Note 8.'],
    ...['To all.', 'From him.', 'Thank you.'],
  ])
  expect(text).toMatch(/Talks with @alice .*@carol .*Channels #ops/)
  expect(html).toMatch(/conversations\/\d+\?m=\d+#m\d+/)
})

test("opening an agent's page is recorded as reading once an hour, without message texts", async () => {
  await allowReading()
  await say(grid, storeOf(grid, grid.alice), 'bob', 'Between us.')
  const olga = await signedIn(grid, await person(grid, { role: 'owner' }))

  await olga.open(bob)
  await olga.open(bob)

  const rows = (await grid.acme.store.read.activity.list()).filter(({ tool }) => tool.startsWith('read_'))
  expect(rows.map(({ tool, arguments: args }) => [tool, args])).toEqual([
    ['read_agent', '{"subject":"bob","agent":"bob"}'],
  ])
  expect((await olga.open(`/accounts/${grid.acme.id}/activity?readings=on`)).text).toContain(
    'Read the newest messages of @bob',
  )
})

test("an agent's page shows members and viewers only numbers, and members also their own messages", async () => {
  await allowReading()
  await say(grid, storeOf(grid, grid.alice), 'bob', 'Between us.')
  const mel = await personWithAlias(grid, 'mel')
  await say(grid, storeOf(grid, grid.bob), 'mel', 'To you alone.')

  const seen = await (await signedIn(grid, mel.person)).open(bob)
  const viewed = await open('viewer')

  expect(seen.text).toContain('To you alone.')
  expect(seen.text).toContain('1 message cannot be shown to you.')
  for (const { text } of [seen, viewed]) expect(text).not.toContain('Between us.')
  expect(viewed.text).not.toContain('To you alone.')
  expect(viewed.text).toContain('You see numbers only')
  expect((await grid.acme.store.read.activity.list()).map(({ tool }) => tool)).not.toContain('read_agent')
})

test("an agent's page shows how long its oldest message has waited, and who sent that message", async () => {
  await say(grid, storeOf(grid, grid.alice), 'bob', 'First.')
  grid.clock.now += 5 * minute
  await grid.acme.agent('carol')
  await say(grid, storeOf(grid, grid.alice), 'bob', 'Second.')

  const { text } = await open('viewer')

  expect(text).toContain('Inbox 2 unread Oldest unread 5 min ago , from @alice')
})

test("an agent's page counts parked messages, and lets account managers requeue them", async () => {
  await say(grid, storeOf(grid, grid.alice), 'bob', 'Poison.')
  for (let n = 0; n < 5; n++) {
    const { body } = await lease(grid, grid.bob.key)
    await release(grid, grid.bob.key, body.lease_id)
  }
  const olga = await signedIn(grid, await person(grid, { role: 'owner' }))
  const attention = await olga.open(`/accounts/${grid.acme.id}/attention`)
  const viewer = await open('viewer')
  const after = await olga.submit(bob, {}, `${bob}/requeue`)

  expect(attention.text).toContain('1 message to @bob is parked')
  expect(attention.text).toContain('they came back again and again')
  expect(viewer.text).toContain('Parked 1 message')
  expect(viewer.html).not.toContain('/requeue')
  expect(after.text).toContain('The messages were put back: they are unread again')
  expect(after.text).not.toContain('Parked')
  expect(after.text).toContain('Inbox 1 unread')
  // A requeued message waits like any other, and no longer counts as redelivered.
  grid.clock.now += 2 * hour
  const waiting = await olga.open(`/accounts/${grid.acme.id}/attention`)
  expect(waiting.text).toMatch(/Attention 1 open .*@bob has not read for 2 h 1 waiting/)
  expect(waiting.text).not.toContain('come back unread')
  expect((await lease(grid, grid.bob.key)).body.messages).toMatchObject([{ message: 'Poison.', redelivered: true }])
  const log = await olga.open(`/accounts/${grid.acme.id}/activity`)
  expect(log.text).toContain('Put back the parked messages of @bob')
})
