/** Server and resource metadata (RFC 8414, RFC 9728). See docs/security.md, "OAuth". */
import { beforeAll, expect, test } from 'vitest'
import { testGrid } from '../support/grid.ts'
import { gridUrl, issuer, type OAuthGrid, oauthGrid } from '../support/oauth.ts'

let grid: OAuthGrid
beforeAll(async () => {
  grid = await oauthGrid()
})

test.each([[`${issuer}/.well-known/oauth-authorization-server`], [
  'https://api.grid.example/.well-known/oauth-authorization-server/mcp/v1/grid',
]])(
  '%s serves the document',
  async (url) => {
    const response = await grid.request(url, { headers: { Origin: 'https://app.example' } })

    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual({
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      registration_endpoint: `${issuer}/oauth/register`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
      revocation_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
      scopes_supported: ['agent:use', 'admin', 'offline_access'],
      authorization_response_iss_parameter_supported: true,
      protected_resources: [
        gridUrl,
        'https://api.grid.example/api/v1/grid',
        `${issuer}/mcp/v1/grid`,
        `${issuer}/api/v1/grid`,
      ],
    })
  },
)

test('the challenge and the metadata of the resource name no scope', async () => {
  const challenge = (await grid.request(gridUrl, { method: 'POST' })).headers.get('www-authenticate')!
  const document = await (await grid.request(challenge.match(/resource_metadata="([^"]+)"/)![1])).json()

  expect(challenge).not.toContain('scope')
  expect(document).toMatchObject({ resource: gridUrl, authorization_servers: [issuer] })
  expect(document).not.toHaveProperty('scopes_supported')
})

test('on a loopback address each spelling is a resource', async () => {
  const local = await testGrid({ env: { PORT: '8787' } })
  const { issuer, protected_resources } =
    await (await local.request('http://127.0.0.1:8787/.well-known/oauth-authorization-server')).json()

  expect(issuer).toBe('http://localhost:8787')
  expect(protected_resources).toHaveLength(6)
  expect(protected_resources).toContain('http://[::1]:8787/mcp/v1/grid')
})
