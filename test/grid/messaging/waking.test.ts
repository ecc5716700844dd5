/**
 * Which events wake which agents. The waits in these tests never poll, so a wait that missed its wake would return only
 * after 50 seconds.
 */
import { beforeEach, expect, test } from 'vitest'
import { createChannel, setWake } from '../../../src/grid/channels/channels.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { waitForMessages } from '../../../src/grid/messaging/wait-for-messages.ts'
import { waitFor } from '../../support/wait-for.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { sendMessage } from '../../support/messaging.ts'

/** A generous limit for a loaded machine. */
const wokenWithinMs = 15_000

let grid: TestGrid
let idle: ReturnType<typeof followIdle>
let alice: AccountStore
let bob: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  idle = followIdle(grid.store)
  alice = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
})

test('a post wakes every member of a channel', async () => {
  const members = await Promise.all(['carol', 'dave', 'erin'].map((alias) => grid.acme.agent(alias)))
  const readers = [grid.bob, ...members].map((agent) => storeOf(grid, agent))
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol', 'dave', 'erin'] })
  const readings = readers.map((reader) => textsOf(wait(reader)))
  await idle(readings.length)
  await sendMessage(alice, { to: '#general', text: 'all' })

  expect(await inTime(Promise.all(readings))).toEqual(readings.map(() => ['all']))
})

test('in a channel of more than five members, a post wakes members it names or answers, and those set to be woken', async () => {
  const names = ['carol', 'dave', 'erin', 'frank', 'gina']
  const others = await Promise.all(names.map((alias) => grid.acme.agent(alias)))
  const [carol, dave, erin, frank] = others.map((agent) => storeOf(grid, agent))
  await createChannel(grid.acme.store, { name: 'all', members: ['alice', 'bob', ...names] })
  await setWake(grid.acme.store, { channel: 'all', agent: 'dave', wake: 'all' })
  await setWake(erin, { channel: '#all', wake: 'none' })
  const before = await sendMessage(carol, { to: '#all', text: 'shall we?' })
  for (const reader of [bob, dave, erin, frank]) await readMessages(reader, {})

  const woken: string[] = []
  const { notifier } = grid.store.waiting
  const notify = notifier.notify.bind(notifier)
  notifier.notify = (ids) => {
    const listed = [...ids]
    woken.push(...listed)
    notify(listed)
  }
  const reading = wait(bob)
  await idle(1)
  const sent = await sendMessage(alice, {
    to: '#all',
    text: 'Yes. @bob begins, @erin rests.',
    replyToMessageId: before.id,
  })
  expect(await textsOf(inTime(reading))).toEqual(['Yes. @bob begins, @erin rests.'])
  const [carolId, daveId] = others.map(({ id }) => id)
  expect([...new Set(woken)].sort()).toEqual([grid.bob.id, carolId, daveId].sort())
  expect([sent.recipients, sent.recipientsWoken]).toEqual([6, 3])
  // Messages that do not wake an agent are still in its inbox.
  expect(await frank.read.inbox.newestUnread(others[3].id)).toBe(0)
  expect(await textsOf(readMessages(frank, {}))).toHaveLength(1)

  await expect(setWake(bob, { channel: 'none', wake: 'all' })).rejects.toMatchObject({ code: 'channel_not_found' })
  await expect(setWake(grid.evil.store, { channel: 'all', agent: 'eve', wake: 'all' })).rejects.toMatchObject({
    code: 'channel_not_found',
  })
})

test("releasing the first reader's messages wakes a second reader, without waiting for the next poll", async () => {
  const readings = [wait(bob), wait(bob)]
  await idle(2)
  await sendMessage(alice, { to: '@bob', text: 'hello' })
  const { first, lease } = await inTime(
    Promise.race(readings.map(async (reading, first) => ({ first, lease: (await reading).lease! }))),
  )
  await idle(1)
  const told: string[] = []
  const { notifier } = grid.store.waiting
  const notify = notifier.notify.bind(notifier)
  notifier.notify = (ids) => {
    const listed = [...ids]
    told.push(...listed)
    notify(listed)
  }
  await leaseOf(bob, lease.id).release()

  await inTime(waitFor('the wake', () => told.includes(grid.bob.id)))
  expect((await inTime(readings[1 - first])).messages).toMatchObject([{ message: 'hello', redelivered: true }])
})

function wait(reader: AccountStore) {
  return waitForMessages(reader, {}, { seconds: 50, lookEveryMs: 100_000 })
}

async function textsOf(batch: ReturnType<typeof wait>): Promise<string[]> {
  return (await batch).messages.map(({ message }) => message)
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const from = performance.now()
  const result = await answer
  expect(performance.now() - from).toBeLessThan(wokenWithinMs)
  return result
}
