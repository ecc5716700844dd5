/** Complete logins with the clients of both MCP SDKs and a real browser. See docs/protocol.md, "Account picker". */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client'
// @ts-types="../../node_modules/@modelcontextprotocol/sdk/dist/esm/client/auth.d.ts"
import { UnauthorizedError as UnauthorizedV1 } from '@modelcontextprotocol/sdk/client/auth.js'
// @ts-types="../../node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.d.ts"
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import { hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { rows } from '../support/database.ts'
import { gridPath, toolResult } from '../support/mcp.ts'
import { type Callback, callbackServer, type OAuthProvider, oauthProvider } from '../support/oauth-client.ts'
import { password } from '../support/people.ts'
import { approveInBrowser } from '../support/consent-browser.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

/** The common interface of all clients. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

const info = { name: 'test', version: '1' }

/** Connects; an UnauthorizedError means that the client has opened the browser. */
const clients: Record<string, (url: URL, authProvider: OAuthProvider, callback: Callback) => Promise<AnyClient>> = {
  'client 1': async (url, authProvider, callback) => {
    const transport = new TransportV1(url, { authProvider })
    const refused = new ClientV1(info).connect(transport)
    await expect(refused).rejects.toThrow(UnauthorizedV1)
    await transport.finishAuth((await callback.next()).get('code')!)
    const client = new ClientV1(info)
    await client.connect(new TransportV1(url, { authProvider }))
    return client as unknown as AnyClient
  },
  ...Object.fromEntries((['auto', 'legacy'] as const).map((mode) => [
    `client 2, ${mode}`,
    async (url: URL, authProvider: OAuthProvider, callback: Callback) => {
      const transport = new TransportV2(url, { authProvider })
      const versionNegotiation = { mode }
      const refused = new ClientV2(info, { versionNegotiation }).connect(transport)
      await expect(refused).rejects.toThrow(UnauthorizedV2)
      await transport.finishAuth(await callback.next())
      const client = new ClientV2(info, { versionNegotiation })
      await client.connect(new TransportV2(url, { authProvider }))
      return client as unknown as AnyClient
    },
  ])),
}

/** For each entry: a call that works, and a tool that is not offered. */
const entries = {
  '@admin (Acme)': { call: { name: 'admin_list_agents', arguments: {} }, other: 'send_message' },
  '@alice': { call: { name: 'send_message', arguments: { to: '@bob', message: 'hi' } }, other: 'admin_list_agents' },
}
const cases = Object.keys(clients).flatMap((name) =>
  (Object.keys(entries) as (keyof typeof entries)[]).map((entry) => [name, entry] as const)
)

describe.skipIf(!hasBrowser)('a login', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let grid: LiveGrid
  let callback: Callback
  let ann: Visitor
  beforeAll(async () => {
    grid = await liveGrid()
    callback = await callbackServer()
    await grid.setPassword('ann@acme.example', password)
    ann = await visit()
  })
  afterAll(async () => {
    await ann?.close()
    await callback?.close()
    await grid?.close()
  })

  test.each(cases)('of %s as %s, up to a called tool, and on after its token ended', async (name, entry) => {
    const visits: Promise<string>[] = []
    const authProvider = oauthProvider(
      callback.url,
      (url) => visits.push(approveInBrowser(ann.context, url, { email: 'ann@acme.example', password, entry })),
    )

    const client = await clients[name](new URL(gridPath, grid.url), authProvider, callback)
    const { tools } = await client.listTools()
    const { call, other } = entries[entry]
    const names = tools.map((tool) => tool.name)
    expect(names).toContain(call.name)
    expect(names).not.toContain(other)
    expect(toolResult(await client.callTool(call)).code).toBeUndefined()
    await expect(client.callTool({ name: other, arguments: {} })).rejects.toMatchObject({ code: -32602 })
    expect(authProvider.kept).toMatchObject({ scope: entry === '@alice' ? 'agent:use' : 'admin' })

    const first = authProvider.kept!.access_token
    grid.clock.now += 9 * hour
    expect(toolResult(await client.callTool(call)).code).toBeUndefined()
    const second = authProvider.kept!.access_token
    expect(second).not.toBe(first)

    await fetch(new URL('/oauth/revoke', grid.url), {
      method: 'POST',
      body: new URLSearchParams({ token: second, client_id: authProvider.clientInformation()!.client_id }),
    })
    expect(toolResult(await client.callTool(call)).code).toBeUndefined()
    expect(authProvider.kept!.access_token).not.toBe(second)
    expect(visits).toHaveLength(1)
    await client.close()
  })

  test('with a revoked grant makes the client open the browser again', async () => {
    const visits: string[] = []
    const authProvider = oauthProvider(callback.url, (url) => {
      if (visits.push(url) > 1) return
      void approveInBrowser(ann.context, url, { email: 'ann@acme.example', password, entry: '@admin (Acme)' })
    })
    const client = await clients['client 1'](new URL(gridPath, grid.url), authProvider, callback)
    await rows(grid, 'UPDATE oauth_grants SET revoked_at = ? WHERE account_id = ?', [grid.clock.now, grid.acme.id])

    await expect(client.callTool({ name: 'admin_list_agents', arguments: {} })).rejects.toThrow(UnauthorizedV1)

    expect(visits.length).toBeGreaterThan(1)
    await client.close()
  })
})
