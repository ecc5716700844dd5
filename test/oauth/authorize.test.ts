/** `/oauth/authorize`: valid requests, and how errors are reported. See docs/security.md, "OAuth". */
import { beforeEach, expect, test } from 'vitest'
import { rows } from '../support/database.ts'
import {
  authorizeQuery,
  browse,
  callback,
  codeFor,
  issuer,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  openConsentPage,
  postForm,
  redirectParameters,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

const admin = () => `admin:${grid.acme.id}`

test.each<[string, Record<string, string | undefined>]>([
  ['an unknown client', { client_id: 'unknown' }],
  ['no client', { client_id: undefined }],
  ['an unregistered redirect URI', { redirect_uri: 'https://evil.example/cb' }],
  ['another name of the loopback host', { redirect_uri: 'http://localhost:4100/callback' }],
  ['a client document that cannot be fetched', { client_id: 'https://client.example/metadata.json' }],
])('a request with %s gets an error page and no redirect', async (_, changes) => {
  const { response, html } = await openConsentPage(grid, grid.ann, changes)

  expect(response.status).toBe(400)
  expect(response.headers.get('location')).toBeNull()
  expect(response.headers.get('content-security-policy')).toContain("form-action 'self';")
  expect(html).not.toMatch(/(?:href|action|src|content)="[^"]*evil\.example/)
})

test('the error for an unknown client says how to fix it', async () => {
  const { html } = await openConsentPage(grid, grid.ann, { client_id: 'unknown' })

  expect(html).toContain('This client is unknown')
  expect(html).toContain('In the program, sign out of this server, or remove it and add it again.')
})

test('a duplicate parameter gets an error page', async () => {
  const query = authorizeQuery(grid)
  query.append('redirect_uri', callback)

  expect((await browse(grid, grid.ann, `/oauth/authorize?${query}`)).status).toBe(400)
})

const reported: [string, Record<string, string | undefined>, string][] = [
  ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
  ['PKCE plain', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['a method without a challenge', { code_challenge: undefined }, 'invalid_request'],
  ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
  ['a foreign resource', { resource: 'https://other.example/mcp/v1/grid' }, 'invalid_target'],
  ['a path that is no resource', { resource: 'https://api.grid.example/mcp/v1' }, 'invalid_target'],
  ['a resource with a user', { resource: 'https://x@api.grid.example/mcp/v1/grid' }, 'invalid_target'],
]

test.each(reported)(
  'a request with %s is reported to the client by a redirect with state and iss',
  async (_, changes, error) => {
    await codeFor(grid)

    const { response } = await openConsentPage(grid, grid.ann, changes)

    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toMatch(/^http:\/\/127\.0\.0\.1:4100\/callback\?/)
    expect(redirectParameters(response)).toEqual({
      error,
      error_description: expect.any(String),
      state: 'x7',
      iss: issuer,
    })
  },
)

test('an invalid request redirects without a click only if this user has a current grant for the client', async () => {
  await codeFor(grid, `agent:${grid.eve.id}`, { browser: grid.ed })
  expect((await openConsentPage(grid, grid.ann, { response_type: 'token' })).response.status).toBe(400)

  const { refresh_token } = await obtainTokens(grid)
  expect((await openConsentPage(grid, grid.ann, { response_type: 'token' })).response.status).toBe(303)

  await postForm(grid, '/oauth/revoke', { token: refresh_token, client_id: grid.clientId })
  expect((await openConsentPage(grid, grid.ann, { response_type: 'token' })).response.status).toBe(400)
})

test.each<[string, Record<string, string | undefined>]>([
  ['no resource', { resource: undefined }],
  ['the resource with another case of its host', { resource: 'HTTPS://API.grid.example/mcp/v1/grid' }],
  ['the legacy path', { resource: 'https://grid.example/api/v1/grid' }],
  ['unknown scopes', { scope: 'openid offline_access' }],
  ['another loopback port', { redirect_uri: 'http://127.0.0.1:51234/callback' }],
])('a request with %s is valid', async (_, changes) => {
  const { response, picks } = await openConsentPage(grid, grid.ann, changes)

  expect(response.status).toBe(200)
  expect(picks).toContain(admin())
})

test('a user has at most 20 pending requests, and a browser at most 10 consent cookies', async () => {
  for (let n = 0; n < 25; n++) await openConsentPage(grid, grid.ann)

  expect(await rows(grid, 'SELECT handle_hash FROM oauth_requests')).toHaveLength(20)
  expect(grid.ann.cookies.size).toBe(1 + 10)
})

test('even an invalid request must sign in before any redirect to a client', async () => {
  const registered = await grid.post(`${issuer}/oauth/register`, { redirect_uris: ['https://phish.example/'] })
  const client = { client_id: (await registered.json()).client_id, redirect_uri: 'https://phish.example/' }
  const query = authorizeQuery(grid, { ...client, response_type: 'token' })
  const path = `/oauth/authorize?${query}`

  const anonymous = await grid.request(`${issuer}${path}`)
  const signedInUser = await browse(grid, grid.ann, path)

  expect(anonymous.headers.get('location')).toBe(`/sign-in?next=${encodeURIComponent(path)}`)
  expect([signedInUser.status, signedInUser.headers.get('location')]).toEqual([400, null])
})
