/** Independent OAuth clients sign in: oauth4webapi and both MCP SDKs. Only the browser is simulated. */
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client'
// @ts-types="../../node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.d.ts"
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as oauth from 'oauth4webapi'
import { beforeEach, expect, test } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import { browse, callback, gridUrl, type OAuthGrid, oauthGrid, submitConsent } from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

/** A `fetch` for clients that reaches only the grid. */
async function gridFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  if (!(input instanceof Request)) return await grid.request(String(input), init)
  const { method, headers } = input
  const body = method === 'GET' ? undefined : await input.text()
  return await grid.request(input.url, { method, headers, body })
}

/** Acts as the user on the authorization page that a client opens: chooses an entry and allows. */
async function allow(url: URL, pick: string): Promise<URL> {
  const page = await (await browse(grid, grid.ann, url.href)).text()
  const handle = page.match(/name="handle" value="([^"]+)"/)![1]
  const response = await submitConsent(grid, grid.ann, { handle, pick, decision: 'allow' })
  return new URL(response.headers.get('location')!)
}

test('oauth4webapi finds the metadata, registers, signs in, refreshes a token and revokes it', async () => {
  const options = { [oauth.customFetch]: (url: string, init: unknown) => gridFetch(url, init as RequestInit) }
  const resource = await oauth.processResourceDiscoveryResponse(
    new URL(gridUrl),
    await oauth.resourceDiscoveryRequest(new URL(gridUrl), options),
  )
  const asUrl = new URL(resource.authorization_servers![0])
  const as = await oauth.processDiscoveryResponse(
    asUrl,
    await oauth.discoveryRequest(asUrl, { algorithm: 'oauth2', ...options }),
  )
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(as, {
      redirect_uris: [callback],
      token_endpoint_auth_method: 'client_secret_basic',
    }, options),
  )
  const clientAuth = oauth.ClientSecretBasic(client.client_secret as string)
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = new URL(as.authorization_endpoint!)
  url.search = `${new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: callback,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    resource: resource.resource,
  })}`

  const parameters = oauth.validateAuthResponse(as, client, await allow(url, `admin:${grid.acme.id}`), state)
  const tokens = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(as, client, clientAuth, parameters, callback, verifier, options),
  )
  const refreshed = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, clientAuth, tokens.refresh_token!, options),
  )
  const call = () =>
    oauth.protectedResourceRequest(
      refreshed.access_token,
      'POST',
      new URL(gridUrl),
      new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' }),
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      options,
    )

  expect(tokens.scope).toBe('admin')
  expect((await call()).status).toBe(200)
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, clientAuth, refreshed.refresh_token!, options),
  )
  await expect(call()).rejects.toMatchObject({ code: oauth.WWW_AUTHENTICATE_CHALLENGE })
})

/** Creates an `authProvider` for both SDKs that stores everything in memory. */
function provider() {
  // deno-lint-ignore no-explicit-any -- the SDK stores values of many types
  const kept: Record<string, any> = {}
  return {
    kept,
    redirectUrl: callback,
    clientMetadata: { client_name: 'SDK', redirect_uris: [callback], token_endpoint_auth_method: 'none' },
    state: () => 'a state',
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => void (kept.client = client),
    tokens: () => kept.tokens,
    invalidateCredentials: () => void delete kept.tokens,
    saveTokens: (tokens: unknown) => void (kept.tokens = tokens),
    redirectToAuthorization: (url: URL) => void (kept.url = url),
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (discovery: unknown) => void (kept.discovery = discovery),
    discoveryState: () => kept.discovery,
  }
}

test.each(['admin', 'agent'] as const)(
  'MCP SDK 1 signs in as %s and refreshes its token automatically',
  async (kind) => {
    const pick = kind === 'admin' ? `admin:${grid.acme.id}` : `agent:${grid.alice.id}`
    const authProvider = provider()
    const connect = () => {
      const transport = new TransportV1(new URL(gridUrl), { authProvider, fetch: gridFetch })
      const client = new ClientV1({ name: 'test', version: '1' })
      return { client, transport, connected: client.connect(transport) }
    }

    const first = connect()
    await expect(first.connected).rejects.toThrow('Unauthorized')
    const back = await allow(authProvider.kept.url, pick)
    await first.transport.finishAuth(back.searchParams.get('code')!)
    const second = connect()
    await second.connected
    const before = authProvider.kept.tokens.access_token
    grid.clock.now += 24 * hour
    const { tools } = await second.client.listTools()

    expect(tools.every(({ name }) => name.startsWith('admin_'))).toBe(kind === 'admin')
    expect(authProvider.kept.tokens.access_token).not.toBe(before)
    await rows(grid, 'UPDATE oauth_grants SET revoked_at = 1 WHERE account_id = ?', [grid.acme.id])
    delete authProvider.kept.url
    await expect(second.client.listTools()).rejects.toThrow('Unauthorized')
    expect(authProvider.kept.url.pathname).toBe('/oauth/authorize/api.grid.example')
    await second.client.close()
  },
)

test.each(['legacy', 'auto'] as const)(
  'MCP SDK 2 (%s) signs in, checks iss, and refreshes its token automatically',
  async (mode) => {
    const authProvider = provider()
    const connect = () => {
      // deno-lint-ignore no-explicit-any -- the provider above serves both SDKs
      const options = { authProvider: authProvider as any, fetch: gridFetch as any }
      const transport = new TransportV2(new URL(gridUrl), options)
      const client = new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      return { client, transport, connected: client.connect(transport) }
    }

    const first = connect()
    await expect(first.connected).rejects.toThrow()
    const back = await allow(authProvider.kept.url, `agent:${grid.alice.id}`)
    await first.transport.finishAuth(back.searchParams)
    const second = connect()
    await second.connected
    const before = authProvider.kept.tokens.access_token
    grid.clock.now += 24 * hour
    const { contents } = await second.client.readResource({ uri: 'grid://agents' })

    expect(JSON.stringify(contents)).toContain('@bob')
    expect(authProvider.kept.tokens.access_token).not.toBe(before)
    await second.client.close()
  },
)
