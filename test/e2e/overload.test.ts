/** What the callers of a grid with too much to do are answered, and when (docs/security.md, "Overload"). */
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { sendMessageRequest } from '../../scripts/bench/calls.ts'
import { Connection } from '../../scripts/bench/connection.ts'
import { cleanUp, runtimes, startScript, temporaryFolder } from '../../scripts/bench/server.ts'
import { createAccounts, runFlood } from '../../scripts/flood/measure.ts'
import { waitFor } from '../support/wait-for.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

const floodSeconds = 8
const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

test.each(runtimes)(
  'a caller with too many calls is refused at every door, and is served again: %s',
  async (runtime) => {
    const env = { DATABASE_URL: `file:${join(temporaryFolder(), 'grid.db')}`, OAUTH_CIMD: 'off', LOG_LEVEL: 'error' }
    const { flooding, honest: [other] } = await createAccounts(env, { honest: 1, agents: 4 })
    const server = await startScript(runtime, ['src/main.ts', 'serve'], { ...env, SHED_ABOVE_MS: '40' }, '/readyz')
    const { port } = server
    const call = async (path: string, key: string, body?: unknown) => {
      const headers = {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      }
      const response = await fetch(`http://localhost:${port}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
      })
      const { status } = response
      const retryAfter = response.headers.get('retry-after')
      if (status === 200 && body === undefined) await response.body!.cancel()
      return { status, retryAfter, body: status === 503 ? await response.json() : undefined }
    }
    const [{ key }] = flooding.agents
    const doors = {
      mcp: () => call('/mcp/v1/grid', key, rpc),
      a2a: () => call('/a2a/v1/grid', key, rpc),
      rest: () => call('/api/agents/wake-stream', key),
    }
    const order = {
      port,
      account: flooding,
      traffic: 'mixed' as const,
      perSecond: 50_000,
      connections: 400,
      seconds: floodSeconds,
    }
    let isFlooding = true
    const flood = runFlood(order).finally(() => isFlooding = false)

    const message = 'Too many of your calls wait. Repeat the call in 2 seconds.'
    const refusals: Partial<Record<keyof typeof doors, unknown>> = {}
    const others: number[] = []
    while (isFlooding) {
      for (const [door, ask] of Object.entries(doors) as [keyof typeof doors, typeof doors.mcp][]) {
        const answer = await ask()
        // While the machine does too much else, the grid as a whole is overloaded, too.
        if (JSON.stringify(answer.body)?.includes(message)) refusals[door] = [answer.retryAfter, answer.body]
      }
      others.push((await call('/mcp/v1/grid', other.agents[0].key, rpc)).status)
      expect((await fetch(`http://localhost:${port}/healthz`)).status).toBe(200)
    }

    const inRpc = ['2', { jsonrpc: '2.0', id: null, error: { code: -32603, message } }]
    expect(refusals).toEqual({ mcp: inRpc, a2a: inRpc, rest: ['2', { error: { code: 'unavailable', message } }] })
    expect((await flood).answers['503']).toBeGreaterThan(0)
    // The other account is refused only if the process itself stood still, as on a machine that does too much else.
    expect(others.filter((status) => status === 200).length).toBeGreaterThan(others.length / 2)
    await waitFor('the account that flooded to be served', async () => (await doors.mcp()).status === 200)
    await server.stop()
  },
)

test.each(runtimes)(
  'posts to a channel of 500 leave room for new connections and for other accounts: %s',
  async (runtime) => {
    const env = { DATABASE_URL: `file:${join(temporaryFolder(), 'grid.db')}`, OAUTH_CIMD: 'off', LOG_LEVEL: 'error' }
    const { flooding, honest: [other] } = await createAccounts(env, { honest: 1, agents: 500 })
    const server = await startScript(runtime, ['src/main.ts', 'serve'], env, '/readyz')
    const { port } = server
    const [sender, reader] = other.agents
    const request = sendMessageRequest(port, sender, `@${reader.alias}`)
    const connection = new Connection(port)
    const asked = { health: 0, sends: 0 }
    let isFlooding = true
    const keepAsking = async (what: keyof typeof asked, ask: () => Promise<{ status: number }>) => {
      while (isFlooding) {
        expect((await ask()).status).toBe(200)
        asked[what]++
      }
    }

    const order = { port, account: flooding, traffic: 'posts' as const, perSecond: 10_000, connections: 32, seconds: 5 }
    const flood = runFlood(order).finally(() => isFlooding = false)
    // Each on a connection of its own.
    await Promise.all([
      keepAsking('health', () => fetch(`http://localhost:${port}/healthz`, { headers: { Connection: 'close' } })),
      keepAsking('sends', () => connection.send(request)),
    ])

    const posts = (await flood).answers.served!
    expect(posts).toBeGreaterThan(20)
    // If the write queue commits one group right after the other, it is 12 to 30.
    expect(posts / asked.health).toBeLessThan(10)
    expect(posts / asked.sends).toBeLessThan(8)
    await server.stop()
  },
)
