/** How callers share the event loop. See docs/security.md, "Scheduling of requests". */
import { expect, test } from 'vitest'
import type { Caller } from '../../../src/lib/http/caller.ts'
import { RequestScheduler, type SchedulerOptions, type Slot } from '../../../src/lib/limits/request-scheduler.ts'
import { turn as eventLoopTurn, waitFor } from '../../support/wait-for.ts'

const account = (name: string): Caller => ({ name, groups: [] })
const stranger = (name: string, ...groups: string[]): Caller => ({ name, groups: ['strangers', ...groups] })

/** Requests that run until they are ended, and a clock that stands still. */
function requests(options?: SchedulerOptions) {
  const clock = { now: 1_000 }
  const scheduler = new RequestScheduler({ now: () => clock.now, ...options })
  const started: string[] = []
  const running: Slot[] = []
  let refused = 0
  return {
    scheduler,
    clock,
    started,
    running,
    refused: () => refused,
    /** Arrive in this iteration, and wait until its requests were served. */
    async send(caller: Caller, count = 1) {
      for (let n = 0; n < count; n++) {
        const slot = scheduler.take(caller)
        if (!slot) refused++
        void Promise.resolve(slot).then((slot) => {
          if (!slot) return
          started.push(caller.name)
          running.push(slot)
        })
      }
      await eventLoopTurn()
    },
    /** The next requests of this iteration wait. */
    useUpIteration() {
      ;(scheduler.take(account('first')) as Slot).release()
      clock.now += 16
    },
    endAll: () => running.splice(0).forEach((slot) => slot.release()),
    count: (caller: string) => started.filter((name) => name === caller).length,
  }
}

test('a caller alone has any number of requests in progress', async () => {
  const { send, count } = requests()
  await send(account('team'), 300)

  await waitFor('the requests to start', () => count('team') === 300)
})

test.each([[undefined, 16], [40, 40]])(
  'beside others a caller has %s in progress (default 16), and the others go on',
  async (maxInProgress, expected) => {
    const { send, count, started } = requests({ maxInProgress })
    await send(account('calm'))
    await send(account('busy'), 300)
    await send(account('calm'), 3)

    await waitFor('the requests to start', () => count('calm') === 4)
    expect(started.slice(0, expected + 1)).toEqual(['calm', ...Array(expected).fill('busy')])
    expect(count('busy')).toBe(expected)
  },
)

test('when one of them ends, the next one starts', async () => {
  const { send, count, running } = requests()
  await send(account('calm'))
  await send(account('busy'), 40)
  expect(count('busy')).toBe(16)
  for (const slot of running.slice(1, 3)) {
    slot.release()
    // A second release counts for nothing.
    slot.release()
  }

  await waitFor('the requests to start', () => count('busy') === 18)
  await eventLoopTurn()
  expect(count('busy')).toBe(18)
})

test('requests that take long do not keep back the others of their caller', async () => {
  const { send, count, clock } = requests()
  await send(account('calm'))
  await send(account('slow'), 80)
  clock.now += 499
  await send(account('calm'))
  await waitFor('the request to start', () => count('calm') === 2)
  expect(count('slow')).toBe(16)
  clock.now += 1

  await waitFor('the requests to start', () => count('slow') === 32)
})

test('waiting callers are served round robin, one request each', async () => {
  const { send, started, useUpIteration } = requests()
  useUpIteration()
  await Promise.all([send(account('busy'), 5), send(account('calm'), 2), send(account('other'))])

  await waitFor('the requests to start', () => started.length === 8)
  expect(started).toEqual(['busy', 'calm', 'other', 'busy', 'calm', 'busy', 'busy', 'busy'])
})

test('strangers are one caller beside accounts, and a /48 is one of them', async () => {
  const { send, started, useUpIteration } = requests()
  useUpIteration()
  const flood = Array.from({ length: 2_000 }, (_, n) => send(stranger(`2001:db8:1:${n}::/64`, '2001:db8:1::/48')))
  await Promise.all([...flood, send(stranger('192.0.2.1')), send(account('team'), 4)])

  await waitFor('the requests of the account to start', () => started.filter((name) => name === 'team').length === 4)
  const short = started.map((name) => name.startsWith('2001') ? '/48' : name)
  expect(short.slice(0, 8)).toEqual(['/48', 'team', '192.0.2.1', 'team', '/48', 'team', '/48', 'team'])
})

test('all strangers together have 64 in progress beside others, and one of them 16', async () => {
  const { send, started } = requests()
  await send(account('team'))
  await send(stranger('192.0.2.1'), 30)
  expect(started.length).toBe(1 + 16)
  for (let n = 2; n < 100; n++) await send(stranger(`192.0.2.${n}`))
  expect(started.length).toBe(1 + 64)
  await send(account('team'))

  expect(started.at(-1)).toBe('team')
})

test('what waits is bounded: a caller has a half, a group leaves as much as it has, and others have room', async () => {
  const { send, scheduler, refused, useUpIteration } = requests()
  useUpIteration()
  const sent = [send(account('busy'), 20_000)]
  expect([scheduler.waiting, refused()]).toEqual([4_000, 16_000])
  for (let n = 0; n < 20_000; n++) sent.push(send(stranger(`192.0.2.${n}`)))
  expect(scheduler.waiting).toBe(5_999)
  const before = refused()
  sent.push(send(account('calm'), 900))

  expect([scheduler.waiting, refused()]).toEqual([6_899, before])
  await Promise.all(sent)
})

test('iterations that accept connections serve no waiting request for 25 ms, and then they do', async () => {
  const { send, scheduler, started, clock, useUpIteration } = requests()
  await send(account('team'))
  await eventLoopTurn()
  useUpIteration()
  void send(account('team'), 3)
  const servedAt: number[] = []
  for (; started.length < 4 && clock.now < 2_000; clock.now++) {
    scheduler.accepted()
    await eventLoopTurn()
    if (started.length > 1 && servedAt.length === 0) servedAt.push(clock.now - 1_000)
  }

  expect(started).toEqual(Array(4).fill('team'))
  expect(servedAt).toEqual([25])
})

test('when all requests have ended, nothing of their callers is kept', async () => {
  const { send, scheduler, started, running, endAll } = requests()
  const all = [account('team'), stranger('192.0.2.1'), stranger('2001:db8:1:1::/64', '2001:db8:1::/48')]
  for (const caller of all) await send(caller, 40)
  await waitFor('all requests', () => {
    endAll()
    return started.length === 120 && running.length === 0
  })

  expect([scheduler.callers, scheduler.waiting]).toEqual([0, 0])
})

test('delays are told of requests that waited, by caller', async () => {
  const delays: string[] = []
  const { send, started, clock, useUpIteration } = requests({
    delays: { report: (ms, name) => delays.push(`${name} ${ms}`) },
  })
  await send(account('served'))
  useUpIteration()
  const sent = send(account('late'))
  clock.now += 7
  await sent
  await waitFor('the request', () => started.includes('late'))

  expect(delays).toEqual(['late 7'])
})
