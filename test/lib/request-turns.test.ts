/** How callers share the turns of the event loop. See docs/security.md, "Taking turns". */
import { expect, test } from 'vitest'
import { RequestTurns, type Turn } from '../../src/lib/request-turns.ts'
import { turn as eventLoopTurn, waitFor } from '../support/wait-for.ts'

/** Requests that run until they are ended. */
function requests(turns = new RequestTurns()) {
  const started: string[] = []
  const running: Turn[] = []
  return {
    started,
    async send(caller: string, count = 1) {
      for (let n = 0; n < count; n++) {
        void Promise.resolve(turns.take(false, caller)).then((turn) => {
          started.push(caller)
          running.push(turn)
        })
      }
      await eventLoopTurn()
    },
    endOne: () => running.shift()!.end(),
    count: (caller: string) => started.filter((name) => name === caller).length,
  }
}

test('a caller alone has any number of requests in progress', async () => {
  const { send, count } = requests()
  await send('team', 300)

  await waitFor('the requests to start', () => count('team') === 300)
})

test('beside others a caller has 16 in progress, and the others go on', async () => {
  const { send, count, started } = requests()
  await send('calm')
  await send('busy', 300)
  await send('calm', 3)

  await waitFor('the requests to start', () => count('calm') === 4)
  expect(started.slice(0, 17)).toEqual(['calm', ...Array(16).fill('busy')])
  expect(count('busy')).toBe(16)
})

test('when one of them ends, the next one starts', async () => {
  const { send, count, endOne } = requests()
  await send('calm')
  await send('busy', 40)
  expect(count('busy')).toBe(16)
  for (let n = 0; n < 3; n++) endOne()

  // One of those that ended was of the other caller.
  await waitFor('the requests to start', () => count('busy') === 18)
})

test('requests that take long do not keep back the others of their caller', async () => {
  const { send, count } = requests()
  await send('calm')
  await send('waiting', 80)
  expect(count('waiting')).toBe(16)

  await waitFor('the requests to start', () => count('waiting') === 80)
})

test('waiting callers are served in turns, one request each', async () => {
  const turns = new RequestTurns()
  const { send, started } = requests(turns)
  // The first request of this turn takes all of its time.
  void turns.take(false, 'first')
  const until = performance.now() + 20
  while (performance.now() < until);
  const sent = [send('busy', 5), send('calm', 2), send('other')]
  await Promise.all(sent)

  await waitFor('the requests to start', () => started.length === 8)
  expect(started).toEqual(['busy', 'calm', 'other', 'busy', 'calm', 'busy', 'busy', 'busy'])
})
