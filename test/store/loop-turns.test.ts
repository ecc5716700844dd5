/** A process's loop, with the test's followers and duties. See docs/architecture.md, "After the commit". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GridError } from '../../src/errors.ts'
import type { Pulse, StoredDuty, StoredFollower } from '../../src/store/global/pulse.ts'
import { type Batch, type GridFollower, Loop, type ProcessFollower } from '../../src/store/loop.ts'
import { waitFor } from '../support/wait-for.ts'

const standsMs = 200
let loop: Loop
/** The database's responses. */
let pulse: { messages: number; positions: Map<StoredFollower, number>; due: Map<StoredDuty, number> }
let pulses: number
let logged: string[]
let now: number
beforeEach(() => {
  pulse = { messages: 0, positions: new Map(), due: new Map() }
  pulses = 0
  logged = []
  now = 1_000_000
  const note = (message: string) => void logged.push(message)
  loop = new Loop({
    pulse: () => {
      pulses++
      return Promise.resolve({ ...pulse, events: 0 } satisfies Pulse)
    },
    log: { debug() {}, info() {}, warn: note, error: note },
    now: () => now,
    retryMs: 10,
    standsMs,
  })
})
afterEach(() => loop.close())

/** Creates a stored follower that records what it processed and skipped. */
function stored(name: StoredFollower, apply: (batch: Batch) => unknown = () => {}, limit = 10) {
  pulse.positions.set(name, 0)
  const taken: number[] = []
  const skipped: number[] = []
  const numbers = ({ after, upTo }: Batch) => Array.from({ length: upTo - after }, (_, i) => after + 1 + i)
  const follower: GridFollower = {
    name,
    limit,
    end: ({ messages }) => messages,
    next: (after, end, limit) => Promise.resolve(Math.min(after + limit, end)),
    async apply(batch) {
      await apply(batch)
      taken.push(...numbers(batch))
      pulse.positions.set(name, batch.upTo)
    },
    skip(batch) {
      skipped.push(...numbers(batch))
      pulse.positions.set(name, batch.upTo)
      return Promise.resolve()
    },
  }
  return { follower, taken, skipped }
}

test('a row on which a follower fails repeatedly is skipped, without delaying other rows and followers', async () => {
  const broken = ({ after, upTo }: Batch) => {
    if (after < 7 && upTo >= 7) throw new TypeError('a damaged row')
  }
  const [failing, healthy] = [stored('search', broken), stored('traffic')]
  pulse.messages = 12
  loop.follow(failing.follower)
  loop.follow(healthy.follower)

  await waitFor('the healthy follower', () => healthy.taken.length === 12)
  await waitFor('the failing follower', () => failing.taken.length === 11)
  expect(failing.skipped).toEqual([7])
  expect(failing.taken).toEqual([1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12])
  expect(logged).toContain('A follower of the log skipped a row')
})

test('a follower that does not advance although rows remain counts as stuck until it advances', async () => {
  let isAway = true
  const { follower, taken } = stored('search', () => {
    if (isAway) throw new GridError('unavailable', 'The database is away.')
  })
  const idle = stored('traffic')
  pulse.messages = 3
  idle.follower.end = () => 0
  loop.follow(follower)
  loop.follow(idle.follower)
  await waitFor('a failure', () => logged.length > 0)
  expect(loop.standing()).toEqual([])

  await waitFor('a follower that stands still', () => loop.standing().length > 0)
  expect(loop.standing()).toMatchObject([{ follower: 'search' }])
  expect(loop.standing()[0].since).toBeLessThanOrEqual(now - standsMs)
  await waitFor('a line in the log', () => logged.includes('A follower of the log makes no progress'))
  isAway = false
  await waitFor('the rows', () => taken.length === 3)
  await waitFor('the end', () => loop.standing().length === 0)
})

test('a row that cannot be skipped is tried again, and the process continues', async () => {
  const { follower, skipped } = stored('search', () => {
    throw new TypeError('a damaged row')
  }, 1)
  const { next } = follower
  let isAway = true
  follower.next = (...range) => isAway ? Promise.reject(new TypeError('away')) : next(...range)
  pulse.messages = 1
  loop.follow(follower)
  await waitFor('a row that was not left out', () => logged.includes('A follower of the log could not skip a row'))
  isAway = false

  await waitFor('the row', () => skipped.length === 1)
})

test('no row is skipped while the database accepts no writes', async () => {
  let isAway = true
  const { follower, taken, skipped } = stored('search', () => {
    if (isAway) throw new GridError('unavailable', 'The database is away.')
  })
  pulse.messages = 3
  loop.follow(follower)
  await waitFor('ten failures', () => logged.length >= 10)
  isAway = false

  await waitFor('the rows', () => taken.length === 3)
  expect(skipped).toEqual([])
})

test('rows that arrive together are one batch, and a backlog is processed without pauses', async () => {
  const batches: Batch[] = []
  const { follower, taken } = stored('traffic', (batch) => batches.push(batch))
  loop.follow(follower)
  await waitFor('a look', () => pulses > 0)
  for (let n = 1; n <= 5; n++) {
    pulse.messages = n
    loop.wake()
  }
  await waitFor('five rows', () => taken.length === 5)
  expect(batches).toEqual([{ after: 0, upTo: 5 }])

  pulse.messages = 1_005
  loop.wake()
  const startedAt = performance.now()
  await waitFor('the backlog', () => taken.length === 1_005)
  // Collecting rows before each batch would take 4 s in total.
  expect(performance.now() - startedAt).toBeLessThan(2_000)
})

test('a process follower immediately gets the rows that arrive after it became active', async () => {
  let isActive = false
  const told: Batch[] = []
  const follower: ProcessFollower = {
    name: 'waits',
    limit: 10,
    pollMs: 10,
    end: ({ messages }) => messages,
    next: (_, end) => Promise.resolve(end),
    isActive: () => isActive,
    begin: () => void told.push({ after: -1, upTo: -1 }),
    apply: (batch) => {
      told.push(batch)
      return Promise.resolve()
    },
  }
  pulse.messages = 4
  loop.follow(follower)
  loop.follow(stored('traffic').follower)
  await waitFor('the first look', () => told.length === 1)
  pulse.messages = 8
  loop.wake()
  await waitFor('another look', () => pulses >= 3)
  isActive = true
  pulse.messages = 9
  loop.wake()

  await waitFor('the new row', () => told.length === 2)
  expect(told[1]).toEqual({ after: 8, upTo: 9 })
})

test('the loop does not query the database while no follower is active', async () => {
  loop.follow({
    name: 'waits',
    limit: 1,
    pollMs: 1,
    end: () => 0,
    next: () => Promise.resolve(0),
    isActive: () => false,
    begin: () => {},
    apply: () => Promise.resolve(),
  })
  for (let i = 0; i < 5; i++) {
    loop.wake()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(pulses).toBe(0)
})

test('a duty runs at its stored time, even after another process has set an earlier time', async () => {
  const done: number[] = []
  pulse.due.set('expiry', now + 60_000)
  loop.perform({
    name: 'expiry',
    run() {
      done.push(now)
      pulse.due.delete('expiry')
      return Promise.resolve()
    },
  })
  await waitFor('a look', () => pulses > 0)
  expect(done).toEqual([])
  pulse.due.set('expiry', now)

  await waitFor('the duty', () => done.length === 1)
  const looks = pulses
  await waitFor('another look', () => pulses > looks)
  expect(done).toHaveLength(1)
})

test('a failed duty is logged and tried again, without delaying others', async () => {
  let runs = 0
  let others = 0
  pulse.due.set('tasks', 0)
  loop.perform({ name: 'tasks', run: () => Promise.reject(new Error(`failure ${++runs}`)) })
  loop.perform({ name: 'another', everyMs: 5, firstMs: 0, run: () => Promise.resolve(void others++) })

  await waitFor('two failures', () => runs >= 2)
  expect(others).toBeGreaterThan(0)
  expect(logged).toContain('A worker task failed')
})

test('ending a duty waits for work that its runs have started', async () => {
  let settle = () => {}
  const work = new Promise<void>((resolve) => settle = resolve)
  const end = loop.perform({ name: 'another', everyMs: 5, run: () => Promise.resolve(), settled: () => work })

  let hasEnded = false
  const ended = end().then(() => hasEnded = true)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(hasEnded).toBe(false)
  settle()
  await ended
})
