/** Notifications of mentions as `@alias`, and of posts in followed channels. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { setPeopleRead } from '../../../src/grid/accounts/people-read.ts'
import { createChannel, followChannel, setChannelMembers } from '../../../src/grid/channels/channels.ts'
import { openConversation } from '../../../src/grid/conversations/open.ts'
import { setDigest } from '../../../src/features/notifications/digests.ts'
import { subscribe } from '../../../src/features/notifications/subscriptions.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { newKeyRing } from '../../../src/lib/key-ring.ts'
import { namedAliases } from '../../../src/aliases.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { sendDigests } from '../../../src/features/notifications/due-digests.ts'
import { PushNotifier, quietMs } from '../../../src/features/notifications/push-notifier.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { type PushService, startPushService } from '../../support/push-service.ts'
import { type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

test.each([
  ['ask @ann-lee, please', ['ann-lee']],
  ['(@Ann-Lee) or @bob.', ['ann-lee', 'bob']],
  ['@ann-lee @ANN-LEE', ['ann-lee']],
  ['@ann-leeds, @xann-lee and @ann-lee_2', ['ann-leeds', 'xann-lee']],
  ['mail me@ann-lee or bob@ann-lee.com or @ann-lee.example', []],
])('mentions are found only as whole words: %s', (text, aliases) => {
  expect(namedAliases(text)).toEqual(aliases)
})

let grid: TestGrid
let service: PushService
let ann: PersonWithAlias
let alice: AccountStore
let general: string
beforeEach(async () => {
  const env = { ALLOW_PRIVATE_TARGETS: '1', GRID_KEYS: newKeyRing() }
  grid = await testGrid({ env, limits: { emailsPerHour: 20 } })
  service = await startPushService()
  ann = await personWithAlias(grid, 'ann-lee', { role: 'owner' })
  alice = storeOf(grid, grid.alice)
  await subscribe(grid.store, ann.account, service.subscription())
  const { channel } = await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'ann-lee'] })
  general = channel.id
})
afterEach(async () => {
  await service.close()
  await grid.close()
})

/** Advances the clock and sends what is due. Returns the notifications that browsers showed. */
async function after(ms: number) {
  grid.clock.now += ms
  const notifier = new PushNotifier(grid.store, new AbortController().signal)
  await notifier.run()
  await notifier.settled()
  return service.taken.splice(0).map(({ shown }) => shown)
}
const titlesAfter = async (ms: number) => (await after(ms)).map(({ title }) => title)
const threadOf = async (account: AccountStore, channel: string) =>
  (await account.read.threads.byKey({ kind: 'channel', key: channel }, ''))!.id

test('a person learns at most once an hour who mentioned them and where, without the text', async () => {
  await say(grid, alice, '#general', 'a secret for @Ann-Lee')
  const id = await threadOf(ann.account, general)
  expect(await after(quietMs)).toEqual([{
    title: '@alice named you in #general',
    body: 'Acme',
    tag: `${grid.acme.id}:${id}`,
    path: `/accounts/${grid.acme.id}/conversations/${id}`,
  }])
  await say(grid, storeOf(grid, grid.bob), '#general', '@ann-lee again')
  await say(grid, storeOf(grid, grid.bob), '#general', 'nothing')

  expect(await titlesAfter(hour - 1)).toEqual([])
  expect(await titlesAfter(1)).toEqual(['@bob named you in #general'])
  expect(await titlesAfter(hour)).toEqual([])
})

test('a person is not notified of a mention that they have seen or written, or that is in a message to them', async () => {
  await say(grid, alice, '#general', 'for @ann-lee')
  await openConversation(ann.account, await threadOf(ann.account, general), { newest: true }, { requestId: null })
  expect(await titlesAfter(hour)).toEqual([])

  await writeMessage(ann.account, { to: '#general', text: 'I am @ann-lee' })
  await followLog(grid.store)
  expect(await titlesAfter(hour)).toEqual([])

  await say(grid, alice, 'ann-lee', 'hello @ann-lee')
  expect(await titlesAfter(hour)).toEqual(['@alice'])
})

test("a person mentioned in agents' messages is notified only if they may read these messages", async () => {
  const zoe = await personWithAlias(grid, 'zoe-lee')
  await subscribe(grid.store, zoe.account, service.subscription('/zoe'))
  await setPeopleRead(ann.account, { choice: 'off' })
  await say(grid, alice, 'bob', 'did @ann-lee or @zoe-lee answer?')
  expect(await titlesAfter(quietMs)).toEqual([])
  await setPeopleRead(ann.account, { choice: 'on' })
  await say(grid, alice, 'bob', 'did @ann-lee or @zoe-lee answer?')
  expect(await titlesAfter(hour)).toEqual(['@alice named you in a conversation'])
  await say(grid, alice, '#general', '@zoe-lee is not in here')
  expect(await titlesAfter(hour)).toEqual([])
})

test('aliases of another account and retracted messages cause no notification', async () => {
  const ed = await personWithAlias(grid, 'ed-lee', { account: grid.evil, role: 'owner' })
  await subscribe(grid.store, ed.account, service.subscription('/ed'))
  await say(grid, alice, '#general', '@ed-lee')
  expect(await titlesAfter(hour)).toEqual([])

  await say(grid, alice, '#general', '@ann-lee')
  await grid.store.write([{
    sql: "UPDATE deliveries SET state = 'retracted' WHERE account_id = ?",
    args: [grid.acme.id],
  }])
  expect(await titlesAfter(hour)).toEqual([])
})

test("a follower is notified of posts at most once an hour, even after the channel's members are replaced, until they unfollow", async () => {
  await followChannel(ann.account, general, true)
  await setChannelMembers(grid.acme.store, { channel: 'general', members: ['ann-lee', 'alice'] })
  await say(grid, alice, '#general', 'one')
  expect(await titlesAfter(quietMs)).toEqual(['@alice posted in #general'])
  await say(grid, alice, '#general', 'two')
  expect(await titlesAfter(minute)).toEqual([])
  expect(await titlesAfter(hour)).toEqual(['@alice posted in #general'])

  await followChannel(ann.account, general, false)
  await say(grid, alice, '#general', 'three')
  expect(await titlesAfter(hour)).toEqual([])
  const zoe = await personWithAlias(grid, 'zoe-lee')
  await expect(followChannel(zoe.account, general, true)).rejects.toMatchObject({ code: 'channel_not_found' })
})

test('a digest announces a mention once, without the text', async () => {
  await setDigest(ann.account, ann.person, 'hourly')
  await say(grid, alice, '#general', 'a secret for @ann-lee')
  grid.clock.now += hour
  await sendDigests(grid.store)
  const [{ subject, text }] = grid.emails.splice(0)
  expect(subject).toBe('News for you')
  expect(text).toContain('News in the account "Acme"')
  expect(text).toContain('@alice named you in #general.')
  expect(text).not.toMatch(/secret|wait/)
  grid.clock.now += hour
  await sendDigests(grid.store)
  expect(grid.emails).toEqual([])
})

test('a mention is not announced again when the search index is rebuilt', async () => {
  await say(grid, alice, '#general', 'for @ann-lee')
  expect((await after(quietMs)).length).toBe(1)
  await grid.store.write(grid.store.global.searchIndex.startAgain())
  await followLog(grid.store)
  expect(await titlesAfter(2 * hour)).toEqual([])
})
