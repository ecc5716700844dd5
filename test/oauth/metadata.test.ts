/** Server and resource metadata (RFC 8414, RFC 9728). See docs/security.md, "OAuth". */
import { beforeAll, expect, test } from 'vitest'
import { testGrid } from '../support/grid.ts'
import { minute } from '../../src/lib/time.ts'
import {
  authorizeQuery,
  browse,
  callback,
  issuer,
  type OAuthGrid,
  oauthGrid,
  postForm,
  redirectParameters,
  signedIn,
  submitConsent,
  verifier,
} from '../support/oauth.ts'

const api = 'https://api.grid.example'
const internal = 'http://grid.internal:8787'

let grid: OAuthGrid
beforeAll(async () => {
  grid = await oauthGrid({ env: { EXTRA_BASE_URLS: internal } })
})

test.each([
  [`${issuer}/.well-known/oauth-authorization-server`, issuer, ''],
  ['https://api.grid.example/.well-known/oauth-authorization-server/mcp/v1/grid', api, '/api.grid.example'],
  [`${internal}/.well-known/oauth-authorization-server`, internal, '/grid.internal%3A8787'],
])(
  '%s returns the metadata of the issuer %s',
  async (url, asked, segment) => {
    const response = await grid.request(url, { headers: { Origin: 'https://app.example' } })

    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual({
      issuer: asked,
      authorization_endpoint: `${issuer}/oauth/authorize${segment}`,
      token_endpoint: `${asked}/oauth/token`,
      registration_endpoint: `${asked}/oauth/register`,
      revocation_endpoint: `${asked}/oauth/revoke`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
      revocation_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
      scopes_supported: ['agent:use', 'admin', 'offline_access'],
      authorization_response_iss_parameter_supported: true,
      protected_resources: [`${asked}/mcp/v1/grid`, `${asked}/api/v1/grid`],
    })
  },
)

test.each([api, issuer, internal])(
  'the challenge and the metadata of the resource at %s name this resource, without a scope',
  async (origin) => {
    const refused = await grid.request(`${origin}/mcp/v1/grid`, { method: 'POST' })
    const challenge = refused.headers.get('www-authenticate')!
    const [, address] = challenge.match(/resource_metadata="([^"]+)"/)!
    const document = await (await grid.request(address)).json()

    expect(address).toBe(`${origin}/.well-known/oauth-protected-resource/mcp/v1/grid`)
    expect(challenge).not.toContain('scope')
    expect(document).toMatchObject({ resource: `${origin}/mcp/v1/grid`, authorization_servers: [origin] })
    expect(document).not.toHaveProperty('scopes_supported')
  },
)

test('each spelling of a loopback address is its own issuer', async () => {
  const local = await testGrid({ env: { PORT: '8787' } })
  for (
    const [host, segment] of [['localhost', ''], ['127.0.0.1', '/127.0.0.1%3A8787'], ['[::1]', '/%5B%3A%3A1%5D%3A8787']]
  ) {
    const origin = `http://${host}:8787`
    const document = await (await local.request(`${origin}/.well-known/oauth-authorization-server`)).json()

    expect(document).toMatchObject({
      issuer: origin,
      authorization_endpoint: `http://localhost:8787/oauth/authorize${segment}`,
      protected_resources: [`${origin}/mcp/v1/grid`, `${origin}/api/v1/grid`],
    })
  }
})

/** A client knows the grid by one of its host names, and Ann decides on the consent page. */
test.each([issuer, api, internal])(
  "a client that signs in at %s gets that issuer's iss and a token",
  async (origin) => {
    const { authorization_endpoint: page, token_endpoint: tokens, issuer } =
      await (await grid.request(`${origin}/.well-known/oauth-authorization-server`)).json()
    // The query is appended without parsing the URL, as some clients do.
    const query = authorizeQuery(grid, { resource: `${origin}/mcp/v1/grid` })
    const shown = await (await browse(grid, grid.ann, `${page}?${query}`)).text()
    const handle = shown.match(/name="handle" value="([^"]+)"/)![1]
    const [, pick] = shown.match(/name="pick" value="(agent:[^"]+)"/)!
    const { code, iss } = redirectParameters(
      await submitConsent(grid, grid.ann, { handle, pick, decision: 'allow' }),
    )

    expect(iss).toBe(issuer)
    const { body } = await postForm(grid, tokens, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      client_id: grid.clientId,
      code_verifier: verifier,
      resource: `${origin}/mcp/v1/grid`,
    })
    const tools = await grid.post(`${origin}/mcp/v1/grid`, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, {
      Authorization: `Bearer ${body.access_token}`,
    })
    expect(tools.status).toBe(200)
  },
)

test('every link and redirect from the consent page keeps its issuer', async () => {
  const page = `/oauth/authorize/grid.internal%3A8787`
  const open = async (changes = {}) => await browse(grid, grid.ann, `${page}?${authorizeQuery(grid, changes)}`)
  const handleOf = async (response: Response) => (await response.text()).match(/name="handle" value="([^"]+)"/)![1]

  const denied = await submitConsent(grid, grid.ann, { handle: await handleOf(await open()), decision: 'deny' })
  expect(redirectParameters(denied)).toMatchObject({ error: 'access_denied', iss: internal })

  const fields = { handle: await handleOf(await open()), decision: 'new-agent', account: grid.acme.id, alias: 'carol' }
  const made = await submitConsent(grid, grid.ann, fields)
  expect(made.headers.get('location')).toContain(`${page}?`)

  const admin = { handle: await handleOf(await open()), decision: 'allow', pick: `admin:${grid.acme.id}` }
  const unconfirmed = await signedIn(grid, grid.ann.visitor.user)
  grid.clock.now += 11 * minute
  const asked = await browse(grid, unconfirmed, `${page}?${authorizeQuery(grid)}`)
  const confirm = await submitConsent(grid, unconfirmed, { ...admin, handle: await handleOf(asked) })
  expect(decodeURIComponent(confirm.headers.get('location')!)).toContain(`next=${page}?`)

  const strayed = await open({ response_type: 'token' })
  expect(`${strayed.headers.get('location')} ${await strayed.text()}`).toContain(`iss=${encodeURIComponent(internal)}`)
})

test('an unknown host has no consent page', async () => {
  const response = await browse(grid, grid.ann, `/oauth/authorize/evil.example?${authorizeQuery(grid)}`)

  expect(response.status).toBe(404)
  expect(await response.text()).not.toContain('Allow access')
})
