/** A remote database that does not answer (reliability 5.5, 6.1): an honest 503, and all is well when it is back. */
import { type Config, createClient } from '@libsql/client'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'
import { type Proxy, startProxy } from '../../support/proxy.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'

let server: Sqld
let proxy: Proxy
let grid: TestGrid
let given: Config
/** The store's own patience is longer than a test's, which ends early only where nobody will answer. */
let patienceMs = 60_000
beforeAll(async () => {
  server = await startSqld()
  proxy = await startProxy(server.url)
  grid = await testGrid({
    url: proxy.url,
    connect(config) {
      given = config
      return createClient(config)
    },
    fetch: (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(patienceMs) }),
  })
})
afterAll(async () => {
  await grid.close()
  await proxy.stop()
  await server.stop()
})
beforeEach(() => become('pass'))
afterEach(() => become('pass'))

test.each(['refuse', 'stall'] as const)(
  'while the database would %s: 503 with Retry-After, and not for long',
  async (state) => {
    become(state)
    const startedAt = Date.now()

    const signup = await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe' })
    const ready = await grid.request('/readyz')
    const send = await sendMessage(as(grid.alice), { to: 'bob', text: 'lost' }).catch((error) => error)
    const write = await grid.acme.store.write([grid.acme.store.change.keys.used('none', 1)]).catch((error) => error)

    expect(signup.status).toBe(503)
    expect(signup.headers.get('retry-after')).toBe('1')
    expect(await signup.json()).toEqual({
      error: { code: 'unavailable', message: 'The database does not answer. Repeat the call.' },
    })
    expect(ready.status).toBe(503)
    expect([send.code, write.code]).toEqual(['unavailable', 'unavailable'])
    // Each attempt is given up after its 400 ms, and few are made; the rest is for a loaded machine.
    expect(Date.now() - startedAt).toBeLessThan(30_000)
  },
)

test('when the database is back, a repeated send is stored once and nothing has to be restarted', async () => {
  const send = () => sendMessage(as(grid.alice), { to: 'bob', text: 'kept', idempotencyKey: 'k' })
  become('refuse')
  await expect(send()).rejects.toMatchObject({ code: 'unavailable' })

  become('pass')
  const first = await send()
  const second = await send()

  expect(second.id).toBe(first.id)
  const { messages } = await readMessages(as(grid.bob), {})
  expect(messages.filter(({ message }) => message === 'kept')).toHaveLength(1)
})

test('liveness does not ask the database', async () => {
  become('stall')

  expect((await grid.request('/healthz')).status).toBe(200)
})

test('the log names the fault and holds no contents', async () => {
  become('refuse')
  await sendMessage(as(grid.alice), { to: 'bob', text: 'the contents' }).catch(() => {})
  await grid.acme.store.write([{ sql: 'SELECT ?', args: ['the contents'] }]).catch(() => {})

  expect(grid.logs.join('\n')).toContain('A commit failed')
  expect(grid.logs.join('\n')).not.toContain('the contents')
})

test('the client has a limit of its own for each request', () => {
  expect(given).toMatchObject({ concurrency: 1, intMode: 'number', fetch: expect.any(Function) })
})

test('answers are asked for unpacked', async () => {
  const asked: unknown[] = []
  const echo = createServer((request, response) => {
    asked.push(request.headers['accept-encoding'])
    response.end()
  })
  await new Promise<void>((ready) => echo.listen(0, '127.0.0.1', ready))

  await given.fetch!(new Request(`http://127.0.0.1:${(echo.address() as AddressInfo).port}`, { method: 'POST' }))

  expect(asked).toEqual(['identity'])
  await new Promise((closed) => echo.close(closed))
})

function as(agent: TestAgent) {
  return grid.store.account(grid.acme.id, {
    type: 'agent',
    agentId: agent.id,
    alias: agent.alias,
    credentialId: 'test',
  })
}

function become(state: 'pass' | 'refuse' | 'stall'): void {
  patienceMs = state === 'stall' ? 400 : 60_000
  proxy.become(state)
}
