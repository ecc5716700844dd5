/**
 * An unresponsive remote database causes 503, and the grid recovers when it is back. See docs/delivery.md, "Storage".
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { openPost } from '../../../src/store/driver/remote-stream.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type Proxy, startProxy } from '../../support/proxy.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'

let server: Sqld
let proxy: Proxy
let grid: TestGrid
/** The store's timeout. Tests without a response shorten it, because the default is too long. */
const timeout = { ms: 60_000 }
beforeAll(async () => {
  server = await startSqld()
  proxy = await startProxy(server.url)
  grid = await testGrid({ url: proxy.url, post: openPost(timeout) })
})
afterAll(async () => {
  await grid.close()
  await proxy.stop()
  await server.stop()
})
beforeEach(() => setProxy('pass'))
afterEach(() => setProxy('pass'))

test.each(['refuse', 'stall'] as const)(
  'while the database would %s, calls soon get 503 with Retry-After, and the log contains no message texts',
  async (state) => {
    setProxy(state)
    const startedAt = Date.now()

    const signup = await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe' })
    const ready = await grid.request('/readyz')
    const send = await sendMessage(as(grid.alice), { to: 'bob', text: 'the contents' }).catch((error) => error)
    const write = await grid.acme.store.write([grid.acme.store.change.keys.markUsed('none', 1)]).catch((error) => error)

    expect(signup.status).toBe(503)
    expect(signup.headers.get('retry-after')).toBe('1')
    expect(await signup.json()).toEqual({
      error: { code: 'unavailable', message: 'The database does not answer. Repeat the call.' },
    })
    expect(ready.status).toBe(503)
    expect([send.code, write.code]).toEqual(['unavailable', 'unavailable'])
    expect(grid.logs.join('\n')).toContain('A commit failed')
    expect(grid.logs.join('\n')).not.toContain('the contents')
    // Few attempts are made, and each times out after 400 ms. The rest is a margin for a loaded machine.
    expect(Date.now() - startedAt).toBeLessThan(30_000)
  },
)

test('when the database is back, a repeated send is stored once without a restart', async () => {
  const send = () => sendMessage(as(grid.alice), { to: 'bob', text: 'kept', idempotencyKey: 'k' })
  setProxy('refuse')
  await expect(send()).rejects.toMatchObject({ code: 'unavailable' })

  setProxy('pass')
  const first = await send()
  const second = await send()

  expect(second.id).toBe(first.id)
  const { messages } = await readMessages(as(grid.bob), {})
  expect(messages.filter(({ message }) => message === 'kept')).toHaveLength(1)
})

const as = (agent: TestAgent) => storeOf(grid, agent)

function setProxy(state: 'pass' | 'refuse' | 'stall'): void {
  timeout.ms = state === 'stall' ? 400 : 60_000
  proxy.become(state)
}
