/** A process's loop. Rows that other processes store wake its waits. See docs/conversations.md, "Waiting". */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { waitForMessages } from '../../src/grid/messaging/wait-for-messages.ts'
import { Signal } from '../../src/lib/notifier.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { followIdle } from '../support/idle.ts'
import { sendMessage } from '../support/messaging.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'
import { waitFor } from '../support/wait-for.ts'

let server: Sqld
let grid: TestGrid
/** How often the process of `grid` has polled for new deliveries. */
let polls = 0
let siblings: Store[]
beforeAll(async () => {
  server = await startSqld()
  grid = await testGrid({
    url: server.url,
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      if (isPoll(crossAccountQuery)) polls++
    },
  })
})
beforeEach(() => {
  siblings = []
})
afterEach(() => Promise.all(siblings.map((sibling) => sibling.close())))
afterAll(async () => {
  await grid.close()
  await server.stop()
})

test('a wait in one process returns within 300 ms of a send in another', async () => {
  const sibling = await openSibling()
  const tookMs: number[] = []
  // A loaded machine may take longer than 300 ms, so it gets more attempts.
  for (let n = 0; n < 3 || (n < 20 && Math.min(...tookMs) >= 300); n++) {
    const text = `message ${n}`
    const reading = waitForMessages(bobAt(sibling.store), {}, { seconds: 10 })
    await sibling.idle(1)
    // Sends after the process's first poll, because that poll wakes every wait.
    const before = sibling.polls.length
    await waitFor('a poll of the other process', () => sibling.polls.length > before)
    await sendMessage(actorAt(grid.store, grid.alice), { to: '@bob', text })
    const sentAt = performance.now()

    expect((await reading).messages.map(({ message }) => message)).toEqual([text])
    tookMs.push(performance.now() - sentAt)
  }
  expect(Math.min(...tookMs)).toBeLessThan(300)
  expect(Math.max(...tookMs)).toBeLessThan(9_000)
})

test("a send between a wait's first read and the process's first poll wakes the wait", async () => {
  const { store, idle } = await openSibling()
  const { pulses } = store.global
  const read = pulses.read
  let isFirst = true
  pulses.read = async () => {
    if (isFirst) {
      isFirst = false
      await idle(1)
      await sendMessage(actorAt(grid.store, grid.alice), { to: '@bob', text: 'between' })
    }
    return await read()
  }

  const startedAt = performance.now()
  const { messages } = await waitForMessages(bobAt(store), {}, { seconds: 50, lookEveryMs: 100_000 })

  expect(messages).toMatchObject([{ message: 'between' }])
  // A wait that missed the message would read it only when the wait ends.
  expect(performance.now() - startedAt).toBeLessThan(25_000)
})

test('an agent is woken once per delivery, not with each poll', async () => {
  const { store, polls } = await openSibling()
  const { notifier } = store.waiting
  const told: string[] = []
  const unsubscribe = notifier.subscribe('an agent', new Signal())
  const more = async (count: number) => {
    const before = polls.length
    await waitFor(`${count} polls`, () => polls.length >= before + count)
  }
  await more(2)
  const notify = notifier.notify.bind(notifier)
  notifier.notify = (ids) => {
    const listed = [...ids]
    told.push(...listed)
    notify(listed)
  }
  await sendMessage(actorAt(grid.store, grid.alice), { to: '@bob', text: 'once' })
  await more(5)
  unsubscribe()

  expect(told).toEqual([grid.bob.id])
})

test('any number of waits cause one poll per interval, and a process without waits does not poll', async () => {
  const sibling = await openSibling()
  const waits = [grid.alice, grid.bob].flatMap((agent) =>
    [1, 2, 3].map(() => waitForMessages(actorAt(sibling.store, agent), {}, { seconds: 1 }))
  )
  await Promise.all(waits)
  const during = sibling.polls.length
  // Subscribes a wait, because a process polls only while it has one.
  const unsubscribe = grid.store.waiting.notifier.subscribe('an agent', new Signal())
  const before = polls
  await waitFor('five polls of a process', () => polls >= before + 5)
  unsubscribe()

  expect(during).toBeGreaterThan(2)
  expect(during).toBeLessThan(9)
  expect(sibling.polls).toHaveLength(during)
})

/** Opens another process on the same database. `polls` lists its polls, and `idle` waits until its waits are idle. */
async function openSibling() {
  const polls: string[] = []
  const store = await openStore({ ...grid.deps, config: readConfig({ DATABASE_URL: server.url }) }, {
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      if (isPoll(crossAccountQuery)) polls.push(crossAccountQuery!)
    },
  })
  siblings.push(store)
  return { store, polls, idle: followIdle(store) }
}

function isPoll(crossAccountQuery: string | undefined): boolean {
  return crossAccountQuery === 'pulse'
}

function bobAt(store: Store) {
  return actorAt(store, grid.bob)
}

function actorAt(store: Store, { id: agentId, alias, key }: TestGrid['bob']) {
  return store.account(grid.acme.id, { type: 'agent', agentId, alias, credentialId: key })
}
