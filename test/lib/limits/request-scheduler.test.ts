/** How callers share the event loop fairly. See docs/security.md, "Overload". */
import { expect, test } from 'vitest'
import { RequestScheduler } from '../../../src/lib/limits/request-scheduler.ts'
import { turn as eventLoopTurn, waitFor } from '../../support/wait-for.ts'

/** Returns a scheduler with a stopped clock, and the requests that it has started. */
function requests() {
  const clock = { now: 1_000 }
  const scheduler = new RequestScheduler(() => clock.now)
  const started: string[] = []
  return {
    scheduler,
    clock,
    started,
    /** Sends requests in this iteration. Returns each request's wait, or a promise of it. */
    send: (caller: string, count = 1) =>
      Array.from({ length: count }, () => {
        const turn = scheduler.turn(caller)
        void Promise.resolve(turn).then(() => started.push(caller))
        return turn
      }),
    /** Uses up the iteration's time, so that its next requests wait. */
    useUpIteration() {
      scheduler.turn('first')
      clock.now += 9
    },
  }
}

test('requests are served immediately while the iteration has time left', () => {
  const { send, clock } = requests()

  expect(send('team', 300)).toEqual(Array(300).fill(0))
  clock.now += 8
  expect(send('team')).toEqual([expect.any(Promise)])
})

test('waiting callers are served round robin, one request each', async () => {
  const { send, started, useUpIteration } = requests()
  useUpIteration()
  send('busy', 5)
  send('calm', 2)
  send('other')

  await waitFor('the requests to start', () => started.length === 8)
  expect(started).toEqual(['busy', 'calm', 'other', 'busy', 'calm', 'busy', 'busy', 'busy'])
})

test("each caller's waiting requests are limited, and other callers are not affected", () => {
  const { send, useUpIteration } = requests()
  useUpIteration()
  const refused = send('busy', 20_000).filter((turn) => turn === Infinity)

  expect(refused.length).toBe(16_000)
  expect(send('calm')).toEqual([expect.any(Promise)])
})

test('an iteration that accepts a connection serves one waiting request', async () => {
  const { send, scheduler, started, useUpIteration } = requests()
  useUpIteration()
  send('team', 3)
  for (let served = 1; served <= 3; served++) {
    scheduler.accepted()
    await eventLoopTurn()
    expect(started.length).toBe(served)
  }
})

test('a served request learns how long it waited, and the scheduler forgets its caller', async () => {
  const { send, scheduler, clock, useUpIteration } = requests()
  useUpIteration()
  const [turn] = send('late')
  clock.now += 7

  expect(await turn).toBe(7)
  expect(scheduler.callers).toBe(0)
})

test('a paused scheduler starts no request, and starts all waiting requests when it resumes', async () => {
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
