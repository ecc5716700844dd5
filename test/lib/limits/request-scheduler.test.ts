/** How callers share the event loop fairly. See docs/security.md, "Overload". */
import { expect, test } from 'vitest'
import { RequestScheduler } from '../../../src/lib/limits/request-scheduler.ts'
import { turn as eventLoopTurn, waitFor } from '../../support/wait-for.ts'

/** A scheduler with a stopped clock, and the requests that it has started. */
function requests() {
  const clock = { now: 1_000 }
  const scheduler = new RequestScheduler(() => clock.now)
  const started: string[] = []
  return {
    scheduler,
    clock,
    started,
    /** Sends requests in this iteration. Returns the wait of each, or a promise of it. */
    send: (caller: string, count = 1) =>
      Array.from({ length: count }, () => {
        const turn = scheduler.turn(caller)
        void Promise.resolve(turn).then(() => started.push(caller))
        return turn
      }),
    /** Makes the next requests of this iteration wait. */
    useUpIteration() {
      scheduler.turn('first')
      clock.now += 9
    },
  }
}

test('serves requests at once while the iteration has time left', () => {
  const { send, clock } = requests()

  expect(send('team', 300)).toEqual(Array(300).fill(0))
  clock.now += 8
  expect(send('team')).toEqual([expect.any(Promise)])
})

test('serves waiting callers round robin, one request each', async () => {
  const { send, started, useUpIteration } = requests()
  useUpIteration()
  send('busy', 5)
  send('calm', 2)
  send('other')

  await waitFor('the requests to start', () => started.length === 8)
  expect(started).toEqual(['busy', 'calm', 'other', 'busy', 'calm', 'busy', 'busy', 'busy'])
})

test("limits each caller's waiting requests without affecting other callers", () => {
  const { send, useUpIteration } = requests()
  useUpIteration()
  const refused = send('busy', 20_000).filter((turn) => turn === Infinity)

  expect(refused.length).toBe(16_000)
  expect(send('calm')).toEqual([expect.any(Promise)])
})

test('serves one waiting request in an iteration that accepts a connection', async () => {
  const { send, scheduler, started, useUpIteration } = requests()
  useUpIteration()
  send('team', 3)
  for (let served = 1; served <= 3; served++) {
    scheduler.accepted()
    await eventLoopTurn()
    expect(started.length).toBe(served)
  }
})

test('tells a request how long it waited, and forgets its caller', async () => {
  const { send, scheduler, clock, useUpIteration } = requests()
  useUpIteration()
  const [turn] = send('late')
  clock.now += 7

  expect(await turn).toBe(7)
  expect(scheduler.callers).toBe(0)
})

test('starts no request while it is paused, and all of them afterwards', async () => {
  const { scheduler, send, started } = requests()
  send('team')
  const resume = scheduler.pause()
  send('team', 3)
  await eventLoopTurn()
  await eventLoopTurn()
  const startedInPause = started.length
  resume()

  await waitFor('the requests to start', () => started.length === 4)
  expect(startedInPause).toBe(1)
  expect(send('team')).toEqual([0])
})
