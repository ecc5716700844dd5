import type { WildClient, WildRequest } from './wild.ts'

export const callback = 'http://127.0.0.1:4100/callback'
const challenge = 'w1TpKUdYE9hUAcNSeeSRFioHDxfUxuHho_JHAfZ_vDM'
/** The URL of a consent page for the client that was stored as `client`. */
export const authorize = (parameters: Record<string, string>) =>
  `/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: '<client>',
    redirect_uri: callback,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'x',
    ...parameters,
  })}`.replaceAll('%3Cclient%3E', '<client>')

/** Lists the tools at a URL to which the user added a slash. */
const tools = (path: string): WildRequest => ({
  does: `lists the tools at ${path}`,
  path,
  headers: { authorization: 'Bearer <alice key>', 'content-type': 'application/json' },
  body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  expect: { status: 200, body: { result: { tools: eachTool } } },
})
const eachTool = Array.from({ length: 13 }, () => ({}))

const client: WildClient = {
  client: 'addresses with a slash at their end',
  seen:
    'run: Claude Code 2.1.332 said "Authenticated", and then "MCP endpoint not found"; mcp-remote 0.15.1 fell back to SSE. ' +
    'The forms of the exchange and the last paths are by hand',
  requests: [
    {
      does: 'asks without a credential',
      path: '/mcp/v1/grid/',
      expect: {
        status: 401,
        headers: {
          'www-authenticate':
            'resource_metadata="https://api.grid.example/.well-known/oauth-protected-resource/mcp/v1/grid"',
        },
      },
    },
    {
      does: 'reads the metadata of the resource',
      method: 'GET',
      path: '/.well-known/oauth-protected-resource/mcp/v1/grid/',
      expect: { status: 200, body: { resource: 'https://api.grid.example/mcp/v1/grid' } },
    },
    {
      does: 'reads the metadata of the server',
      method: 'GET',
      path: '/.well-known/oauth-authorization-server/',
      expect: { status: 200, body: { issuer: 'https://api.grid.example' } },
    },
    {
      does: 'registers',
      path: '/oauth/register/',
      headers: { 'content-type': 'application/json' },
      body: { client_name: 'Client', redirect_uris: [callback], token_endpoint_auth_method: 'none' },
      expect: { status: 201, keeps: { client: 'client_id' }, lacks: ['registration_client_uri'] },
    },
    {
      does: 'signs in with the address as its resource',
      consent: authorize({ resource: 'https://api.grid.example/mcp/v1/grid/' }),
    },
    {
      does: 'exchanges the code, in JSON',
      path: '/oauth/token/',
      headers: { 'content-type': 'application/json' },
      body: {
        grant_type: 'authorization_code',
        code: '<code>',
        redirect_uri: callback,
        code_verifier: 'v'.repeat(64),
        client_id: '<client>',
        resource: 'https://api.grid.example/',
      },
      expect: { status: 200, keeps: { token: 'access_token', refresh: 'refresh_token' } },
    },
    {
      does: 'lists the tools',
      path: '/mcp/v1/grid/',
      headers: { authorization: 'Bearer <token>', 'content-type': 'application/json' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      expect: { status: 200, body: '"admin_list_agents"' },
    },
    {
      does: 'refreshes for a foreign resource',
      path: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=refresh_token&refresh_token=<refresh>&client_id=<client>&resource=https%3A%2F%2Fother.example',
      expect: { status: 400, body: { error: 'invalid_target' } },
    },
    {
      does: 'refreshes for the origin',
      path: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body:
        'grant_type=refresh_token&refresh_token=<refresh>&client_id=<client>&resource=https%3A%2F%2Fapi.grid.example',
      expect: { status: 200, body: { token_type: 'Bearer' } },
    },
    tools('/mcp/v1/grid/'),
    tools('/api/v1/grid/'),
    {
      does: 'asks at an address with two slashes',
      path: '/mcp/v1/grid//',
      headers: { authorization: 'Bearer <alice key>' },
      expect: { status: 404 },
    },
    {
      does: 'asks at an address with an encoded slash',
      path: '/mcp/v1/grid%2F',
      headers: { authorization: 'Bearer <alice key>' },
      expect: { status: 404 },
    },
    {
      does: 'asks who it is',
      method: 'GET',
      path: '/api/v1/me/',
      headers: { authorization: 'Bearer <alice key>' },
      expect: { status: 200, body: { agent: '@alice' } },
    },
    { does: 'a supervisor probes', method: 'GET', path: '/healthz/', expect: { status: 200 } },
  ],
}
export default client
