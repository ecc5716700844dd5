import { beforeEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { waitForMessages, watchInbox } from '../../../src/grid/messaging/wait-for-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let idle: ReturnType<typeof followIdle>
let stop: AbortController
let alice: AccountStore
let bob: AccountStore
beforeEach(async () => {
  stop = new AbortController()
  grid = await testGrid({ stopping: stop.signal })
  idle = followIdle(grid.store)
  alice = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
})

test('a wait ends with an empty batch after its timeout', async () => {
  const from = performance.now()

  expect(await textsOf(waitForMessages(bob, {}, { seconds: 0.1 }))).toEqual([])
  expect(performance.now() - from).toBeGreaterThan(90)
})

test("a credential's fourth wait ends its oldest one early", async () => {
  const waits = [1, 2, 3, 4].map(() => waitForMessages(bob, {}, { seconds: 50 }))

  expect(await textsOf(waits[0])).toEqual([])
  expect(grid.store.waiting.reads.count).toBe(3)
  stop.abort()
  await Promise.all(waits)
  expect(grid.store.waiting.reads.count).toBe(0)
  // The test's timeout is shorter than the waits, because otherwise the first wait could also end by itself.
}, 40_000)

test('a wait leases nothing if its credential is revoked in the meantime', async () => {
  let isRevoked = false
  const check = () => isRevoked ? Promise.reject(new Error('revoked')) : Promise.resolve()
  const reading = waitForMessages(bob, {}, { seconds: 50, check })
  await idle(1)
  isRevoked = true
  await write('hello')
  await expect(reading).rejects.toThrow('revoked')

  expect(await textsOf(readMessages(bob, {}))).toEqual(['hello'])
})

test('a new stream immediately reports unread messages, or sends a heartbeat if there are none', async () => {
  const empty = listen(bob)
  expect(await empty.next()).toBe('heartbeat')
  await write('hello')

  expect(await empty.next()).toBe('unread')
  expect(await listen(bob).next()).toBe('unread')
})

test('a stream ends when its credential is revoked, without another event', async () => {
  let isGood = true
  const check = () => isGood ? Promise.resolve() : Promise.reject(new Error('revoked'))
  const stream = listen(bob, check)
  await stream.next()
  isGood = false
  await write('hello')

  expect(await stream.next()).toBeUndefined()
})

test('a stream announces unread messages again after a minute', async () => {
  await write('hello')
  const stream = listen(bob)
  await stream.next()

  const told: unknown[] = []
  for (let i = 0; i < 8; i++) {
    const next = stream.next()
    pass(15_000)
    told.push(await next)
  }
  expect(told).toEqual([
    'heartbeat',
    'heartbeat',
    'heartbeat',
    'unread',
    'heartbeat',
    'heartbeat',
    'heartbeat',
    'unread',
  ])
})

test('a stream ends when the caller disconnects, and when the process stops', async () => {
  const [one, two] = [listen(bob), listen(bob)]
  await Promise.all([one.next(), two.next()])
  const [left, stopped] = [one.next(), two.next()]
  one.connection.abort()
  expect(await left).toBeUndefined()
  stop.abort()

  expect(await stopped).toBeUndefined()
  expect(grid.store.waiting.notifier.hasSubscribers).toBe(false)
})

test("an account's streams and waits are limited across its credentials", async () => {
  grid = await testGrid({ stopping: stop.signal, limits: { waitsPerAccount: 2 } })
  const [one, two, other] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob), storeOf(grid, grid.eve)]
  await Promise.all([one, two].map((account) => listen(account).next()))
  expect(open(one)).toBeUndefined()
  expect(open(other)).toBeDefined()

  const waits = [one, two].map((account) => waitForMessages(account, {}, { seconds: 50 }))
  expect(await textsOf(waitForMessages(one, {}, { seconds: 50 }))).toEqual([])
  expect(grid.store.waiting.reads.count).toBe(2)
  stop.abort()
  await Promise.all(waits)
})

function write(text: string) {
  return sendMessage(alice, { to: '@bob', text })
}

async function textsOf(batch: ReturnType<typeof readMessages>): Promise<string[]> {
  return (await batch).messages.map(({ message }) => message)
}

function open(reader: AccountStore, check: () => Promise<unknown> = () => Promise.resolve()) {
  const connection = new AbortController()
  const signals = watchInbox(reader, { heartbeatMs: 15_000, check, caller: connection })
  return signals && { connection, next: async () => (await signals.next()).value as string | undefined }
}

function listen(reader: AccountStore, check?: () => Promise<unknown>) {
  return open(reader, check)!
}

/** Advances the clock, and wakes all waits and streams. */
function pass(ms: number): void {
  grid.clock.now += ms
  grid.store.waiting.notifier.notifyAll()
}
