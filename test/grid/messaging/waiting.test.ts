import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { awaitMessages, listenForMail } from '../../../src/grid/messaging/waiting.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { dump } from '../../support/database.ts'
import { type TestAccount, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'

let grid: TestGrid
let stop: AbortController
let alice: AccountStore
let bob: AccountStore
beforeEach(async () => {
  stop = new AbortController()
  grid = await testGrid({ stopping: stop.signal })
  alice = as(grid.acme, grid.alice)
  bob = as(grid.acme, grid.bob)
})
afterEach(() => grid.close())

test('a wait looks back first: what is already there is handed out at once', async () => {
  await write('hello')

  expect(await textsOf(awaitMessages(bob, {}, { seconds: 50 }))).toEqual(['hello'])
})

test('a wait is answered at the commit of a message', async () => {
  const reading = textsOf(awaitMessages(bob, {}, { seconds: 50 }))
  await sleep(20)
  await write('hello')

  expect(await reading).toEqual(['hello'])
  expect(grid.store.waiting.wakes.areHeard).toBe(false)
})

test('every member of a channel is woken by a post', async () => {
  const carol = as(grid.acme, await grid.acme.agent('carol'))
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol'] })
  const readings = [bob, carol].map((reader) => textsOf(awaitMessages(reader, {}, { seconds: 50 })))
  await sleep(20)
  await sendMessage(alice, { to: '#general', text: 'all' })

  expect(await Promise.all(readings)).toEqual([['all'], ['all']])
})

test('a public agent of another account is woken', async () => {
  const shop = as(grid.evil, await grid.evil.agent('shop', { visibility: 'public' }))
  const reading = textsOf(awaitMessages(shop, {}, { seconds: 50 }))
  await sleep(20)
  await sendMessage(alice, { to: '@shop', text: 'order' })

  expect(await reading).toEqual(['order'])
})

test('nobody else is woken', async () => {
  const eve = as(grid.evil, grid.eve)
  const readings = [alice, eve].map((reader) => textsOf(awaitMessages(reader, {}, { seconds: 0.2 })))
  await write('hello')

  expect(await Promise.all(readings)).toEqual([[], []])
})

test('a wait ends with an empty batch when its time is over', async () => {
  const from = performance.now()

  expect(await textsOf(awaitMessages(bob, {}, { seconds: 0.1 }))).toEqual([])
  expect(performance.now() - from).toBeGreaterThan(90)
})

test('the fourth wait of a credential makes the oldest answer early', async () => {
  const waits = [1, 2, 3, 4].map(() => awaitMessages(bob, {}, { seconds: 50 }))

  expect(await textsOf(waits[0])).toEqual([])
  expect(grid.store.waiting.reads.count).toBe(3)
  stop.abort()
  await Promise.all(waits)
  expect(grid.store.waiting.reads.count).toBe(0)
})

test('when the caller has left nothing is handed out', async () => {
  const departure = new AbortController()
  const reading = awaitMessages(bob, {}, { seconds: 50, departure })
  await sleep(20)
  departure.abort()
  await expect(reading).rejects.toThrow('left')
  await write('hello')

  expect(await textsOf(readMessages(bob, {}))).toEqual(['hello'])
})

test('when the credential ends meanwhile nothing is handed out', async () => {
  const check = () => Promise.reject(new Error('revoked'))
  const reading = awaitMessages(bob, {}, { seconds: 50, check })
  await sleep(20)
  await write('hello')
  await expect(reading).rejects.toThrow('revoked')

  expect(await textsOf(readMessages(bob, {}))).toEqual(['hello'])
})

test('of two waits one gets a message, and the other goes on', async () => {
  const waits = [1, 2].map(() => textsOf(awaitMessages(bob, {}, { seconds: 50 })))
  await sleep(20)
  await write('first')
  await Promise.race(waits)
  await write('second')

  expect((await Promise.all(waits)).toSorted()).toEqual([['first'], ['second']])
})

test('waits end when the process stops', async () => {
  const reading = textsOf(awaitMessages(bob, {}, { seconds: 50 }))
  await sleep(20)
  stop.abort()

  expect(await reading).toEqual([])
})

test('a wait writes nothing', async () => {
  const before = await dump(grid, grid.acme)
  await awaitMessages(bob, {}, { seconds: 0.05 })

  expect(await dump(grid, grid.acme)).toEqual(before)
})

test('a stream says at once that mail waits, and otherwise that it is alive', async () => {
  const empty = listen(bob)
  expect(await empty.next()).toBe('alive')
  await write('hello')

  expect(await empty.next()).toBe('mail')
  expect(await listen(bob).next()).toBe('mail')
})

test('a stream is alive every heartbeat', async () => {
  const stream = listen(bob)
  await stream.next()
  const next = stream.next()
  pass(14_999)
  expect(await settled(next)).toBe(false)
  pass(1)

  expect(await next).toBe('alive')
})

test('a clock that is set back by a day silences no stream: heartbeats and reminders go on', async () => {
  await write('hello')
  const stream = listen(bob)
  await stream.next()
  pass(-86_400_000)
  expect(await stream.next()).toBe('mail')
  const next = stream.next()
  pass(15_000)

  expect(await next).toBe('alive')
})

test('what stays unread is announced again after a minute', async () => {
  await write('hello')
  const stream = listen(bob)
  await stream.next()

  const told: unknown[] = []
  for (let i = 0; i < 8; i++) {
    const next = stream.next()
    pass(15_000)
    told.push(await next)
  }
  expect(told).toEqual(['alive', 'alive', 'alive', 'mail', 'alive', 'alive', 'alive', 'mail'])
})

test('mail that was read is never spoken of', async () => {
  await write('hello')
  const stream = listen(bob)
  await stream.next()
  await readMessages(bob, {})

  const told: unknown[] = []
  for (let i = 0; i < 8; i++) {
    const next = stream.next()
    pass(15_000)
    told.push(await next)
  }
  expect(new Set(told)).toEqual(new Set(['alive']))
})

test('a stream ends after 30 minutes', async () => {
  const stream = listen(bob)
  await stream.next()
  const next = stream.next()
  await sleep(20)
  pass(30 * 60_000)

  expect(await next).toBeUndefined()
  expect(grid.store.waiting.streams.count).toBe(0)
})

test('a stream ends when its credential does, and says nothing more', async () => {
  let isGood = true
  const check = () => isGood ? Promise.resolve() : Promise.reject(new Error('revoked'))
  const stream = listen(bob, check)
  await stream.next()
  isGood = false
  await write('hello')

  expect(await stream.next()).toBeUndefined()
})

test('a stream ends when the listener leaves, and when the process stops', async () => {
  const [one, two] = [listen(bob), listen(bob)]
  await Promise.all([one.next(), two.next()])
  const [left, stopped] = [one.next(), two.next()]
  one.departure.abort()
  expect(await left).toBeUndefined()
  stop.abort()

  expect(await stopped).toBeUndefined()
  expect(grid.store.waiting.wakes.areHeard).toBe(false)
})

test('a credential has three streams', async () => {
  const streams = [listen(bob), listen(bob), listen(bob)]
  await Promise.all(streams.map((stream) => stream.next()))
  expect(open(bob)).toBeUndefined()
  expect(open(alice)).toBeDefined()
  streams[0].departure.abort()
  await streams[0].next()

  expect(open(bob)).toBeDefined()
})

function as(account: TestAccount, { id: agentId, alias, key }: TestAgent): AccountStore {
  return grid.store.account(account.id, { type: 'agent', agentId, alias, credentialId: key })
}

function write(text: string) {
  return sendMessage(alice, { to: '@bob', text })
}

async function textsOf(batch: ReturnType<typeof readMessages>): Promise<string[]> {
  return (await batch).messages.map(({ message }) => message)
}

function open(reader: AccountStore, check: () => Promise<unknown> = () => Promise.resolve()) {
  const departure = new AbortController()
  const signals = listenForMail(reader, { heartbeatMs: 15_000, check, departure })
  return signals && { departure, next: async () => (await signals.next()).value as string | undefined }
}

function listen(reader: AccountStore, check?: () => Promise<unknown>) {
  return open(reader, check)!
}

/** Let time pass, and let those who wait see it. */
function pass(ms: number): void {
  grid.clock.now += ms
  grid.store.waiting.wakes.wakeAll()
}

async function settled(promise: Promise<unknown>): Promise<boolean> {
  return await Promise.race([promise.then(() => true), sleep(50).then(() => false)])
}
