/** Calls that an agent key can make about itself. See docs/protocol/rest.md, "Keys". */
import { beforeEach, expect, test } from 'vitest'
import { addKey } from '../../src/grid/agents/agent-settings.ts'
import { version } from '../../src/lib/version.ts'
import { mcp } from '../support/mcp.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('an agent key describes its agent, and can revoke only itself', async () => {
  const { apiKey } = await addKey(grid.acme.store, { agent: 'bob', name: 'claude on laptop' })
  expect(await call('GET', '/api/v1/me', apiKey)).toEqual({
    status: 200,
    body: {
      agent: '@bob',
      account: 'Acme',
      key: { name: 'claude on laptop', last4: apiKey.slice(-4) },
      grid: { version, url: grid.deps.config.baseUrl },
      clock: '2026-11-21T09:00:00.000Z',
    },
  })

  const ended = await call('DELETE', '/api/v1/key', apiKey)
  expect(ended).toEqual({ status: 200, body: { revoked: { name: 'claude on laptop', last4: apiKey.slice(-4) } } })

  expect(await call('GET', '/api/v1/me', apiKey)).toMatchObject({ status: 401 })
  expect((await call('DELETE', '/api/v1/key', apiKey)).status).toBe(401)
  expect(await works(grid.bob.key)).toBe(true)
  expect(await grid.acme.store.read.activity.list({ limit: 1 })).toMatchObject([
    { tool: 'revoke_own_key', outcome: 'ok', actorType: 'agent' },
  ])
})

test("the route for the caller's own key refuses other methods, and lists the allowed ones", async () => {
  const headers = { Authorization: `Bearer ${grid.bob.key}` }
  const [me, key] = await Promise.all([
    grid.request('/api/v1/me', { method: 'DELETE', headers }),
    grid.request('/api/v1/key', { headers }),
  ])
  expect([me.status, me.headers.get('allow'), key.status, key.headers.get('allow')]).toEqual([
    405,
    'GET',
    405,
    'DELETE',
  ])
  expect(await works(grid.bob.key)).toBe(true)
})

async function call(method: string, path: string, key: string | undefined) {
  const headers: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const response = await grid.request(path, { method, headers })
  return { status: response.status, body: await response.json() }
}

async function works(key: string): Promise<boolean> {
  return (await mcp(grid, key, 'tools/list')).status === 200
}
