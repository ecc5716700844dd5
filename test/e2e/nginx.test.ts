/** Three processes behind the nginx configuration of docs/operating/proxies.md, "Proxies". */
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { hasNginx, proxiedUrl, type Proxy, startNginx } from '../support/nginx.ts'
import { runtimes, type ServerProcess, startServe } from '../support/process.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { bearer, callTool } from './client.ts'

describe.skipIf(!hasNginx)('a grid behind nginx', () => {
  let sqld: Sqld
  let grid: TestGrid
  let processes: ServerProcess[]
  let proxy: Proxy
  beforeAll(async () => {
    sqld = await startSqld()
    grid = await testGrid({ url: sqld.url })
    const env = { DATABASE_URL: sqld.url, EXTRA_BASE_URLS: proxiedUrl, TRUSTED_PROXIES: '127.0.0.1', OAUTH_CIMD: 'off' }
    processes = await Promise.all(runtimes.map((runtime) => startServe(runtime, env)))
    proxy = await startNginx(processes.map(({ port }) => port))
  })
  afterAll(async () => {
    await proxy?.stop()
    await Promise.all(processes?.map((server) => server.stop()) ?? [])
    await grid.close()
    await sqld.stop()
  })

  test('while a process stops, no send fails; after a kill, no send with an idempotency key fails or is stored twice', async () => {
    const [first, second] = processes

    const stopped = await sendAll('a', () => first.signal('SIGTERM'), () => ({}))
    const killed = await sendAll('b', () => second.signal('SIGKILL'), (message) => ({ 'Idempotency-Key': message }))

    const read = await readAll()
    expect([...stopped.failures, ...killed.failures]).toEqual([])
    expect(read.sort()).toEqual([...stopped.texts, ...killed.texts].sort())
  })

  test('if a send gets no response, nginx retries it at another process only if it has an idempotency key', async () => {
    let taken = 0
    const dying = createServer((socket) => {
      socket.on('error', () => {}).once('data', () => {
        taken++
        socket.destroy()
      })
    })
    await new Promise<void>((resolve) => dying.listen(0, '127.0.0.1', resolve))
    const [{ port: dyingPort }, { port }] = [dying.address() as AddressInfo, processes[2]]
    const behind = await startNginx([dyingPort, port, port])
    taken = 0
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) statuses.push((await send(behind, `without ${i}`)).status)
    const unanswered = taken
    for (let i = 0; i < 6; i++) {
      statuses.push((await send(behind, `with ${i}`, { 'Idempotency-Key': `with ${i}` })).status)
    }
    const read = await readAll()
    await behind.stop()
    dying.close()

    expect(unanswered).toBeGreaterThan(0)
    expect(taken).toBeGreaterThan(unanswered)
    expect(statuses.filter((status) => status !== 201)).toEqual(Array.from({ length: unanswered }, () => 502))
    expect(read).toHaveLength(statuses.length - unanswered)
    expect(new Set(read).size).toBe(read.length)
  })

  test("a body above nginx's default limits reaches the grid", async () => {
    const path = `/api/v1/parts/${grid.bob.id}?offset=0`
    const { status, text } = await proxy.request('PUT', path, bearer(grid.alice.key), new Uint8Array(17 * 2 ** 20))

    expect([status, JSON.parse(text).error.code]).toEqual([404, 'part_not_found'])
  })

  /** Sends 300 messages, ten at a time, and calls `happen` after a quarter of them. */
  async function sendAll(name: string, happen: () => void, headersOf: (message: string) => Record<string, string>) {
    const texts = Array.from({ length: 300 }, (_, i) => `${name} ${i}`)
    const next = texts.entries()
    const failures: string[] = []
    const sender = async () => {
      for (const [i, message] of next) {
        if (i === 75) happen()
        const { status, text } = await send(proxy, message, headersOf(message))
        if (status !== 201) failures.push(`${status} ${text}`)
      }
    }
    await Promise.all(Array.from({ length: 10 }, sender))
    return { texts, failures }
  }

  function send(to: Proxy, message: string, headers: Record<string, string> = {}) {
    const all = { 'Content-Type': 'application/json', ...bearer(grid.alice.key), ...headers }
    return to.request('POST', '/api/v1/messages', all, JSON.stringify({ to: '@bob', message }))
  }

  /** Returns the texts of all of @bob's unread messages, from the process that still runs. */
  async function readAll(): Promise<string[]> {
    const texts: string[] = []
    for (;;) {
      const { messages } = await callTool(processes[2].url, grid.bob.key, 'read_messages')
      if (messages.length === 0) return texts
      texts.push(...messages.map(({ message }: { message: string }) => message))
    }
  }
})
