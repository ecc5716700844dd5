/** Which requests the dispatcher schedules together. See docs/security.md, "Overload". */
import { expect, test } from 'vitest'
import { createDispatcher } from '../../src/listen/dispatcher.ts'
import type { RequestScheduler } from '../../src/lib/limits/request-scheduler.ts'

test.each([
  ['/healthz', true],
  ['/healthz/', true],
  ['/readyz?verbose=1', true],
  ['/metrics/?a', true],
  ['/healthz//', false],
  ['/healthz%2F', false],
  ['/healthzz', false],
  ['/a/healthz', false],
])('whether a GET of %s is scheduled separately from other requests: %s', (path, isApart) => {
  const callers: string[] = []
  const scheduler = { turn: (caller: string) => callers.push(caller) } as unknown as RequestScheduler
  const dispatch = createDispatcher(() => new Response(), scheduler, { port: 0, host: '' })

  void dispatch(new Request(`http://localhost${path}`), {
    ...{ path, method: 'GET', remoteAddress: '203.0.113.7', isGone: false },
    header: () => null,
  })

  expect(callers).toEqual([isApart ? 'health 203.0.113.7' : '203.0.113.7'])
})
