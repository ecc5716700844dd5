/** `/oauth/token`: authorization codes, and client authentication. See docs/security.md, "OAuth". */
import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { minute } from '../../src/lib/time.ts'
import { codeChallengeOf } from '../../src/lib/secrets.ts'
import { rows } from '../support/database.ts'
import {
  callback,
  codeFor,
  exchange,
  gridUrl,
  issuer,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  otherClient,
  postForm,
  refresh,
  setRole,
  signedInPerson,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

const agent = () => `agent:${grid.alice.id}`

test.each<[string, () => Promise<Record<string, string | undefined>> | Record<string, string | undefined>, string]>([
  ['a wrong redirect URI', () => ({ redirect_uri: 'http://127.0.0.1:4101/callback' }), 'invalid_grant'],
  ['no client', () => ({ client_id: undefined }), 'invalid_client'],
  ['a secret that the client does not have', () => ({ client_secret: 'x' }), 'invalid_client'],
  ['a wrong verifier', () => ({ code_verifier: 'w'.repeat(64) }), 'invalid_grant'],
  ['no verifier', () => ({ code_verifier: undefined }), 'invalid_request'],
  ['another resource of ours', () => ({ resource: `${issuer}/mcp/v1/grid` }), 'invalid_target'],
  ['another client', async () => ({ client_id: await otherClient(grid) }), 'invalid_grant'],
  ['another grant type', () => ({ grant_type: 'password' }), 'unsupported_grant_type'],
])('a token request with %s is refused and does not use up the code', async (_, changes, error) => {
  const code = await codeFor(grid)

  const refused = await exchange(grid, code, await changes())

  expect(refused.body).toEqual({ error, error_description: expect.any(String) })
  expect(refused.status).toBe(error === 'invalid_client' ? 401 : 400)
  expect(refused.headers.get('cache-control')).toBe('no-store')
  expect((await exchange(grid, code, { resource: gridUrl })).status).toBe(200)
})

test('a code is valid for 60 seconds', async () => {
  const [intime, late] = [await codeFor(grid), await codeFor(grid)]

  grid.clock.now += minute - 1
  expect((await exchange(grid, intime)).status).toBe(200)
  grid.clock.now += 1
  expect((await exchange(grid, late)).body.error).toBe('invalid_grant')
})

test('a code that its client uses twice revokes the tokens, even with a wrong verifier', async () => {
  const code = await codeFor(grid)
  const { body } = await exchange(grid, code)
  expect(await mcpAccess(grid, body.access_token)).toBe('admin tools')

  const replay = await exchange(grid, code, { code_verifier: 'w'.repeat(64) })

  expect(replay.body.error).toBe('invalid_grant')
  expect(await mcpAccess(grid, body.access_token)).toBe('401')
  expect((await refresh(grid, body.refresh_token)).body.error).toBe('invalid_grant')
})

test('a used code sent by another client revokes nothing', async () => {
  const code = await codeFor(grid)
  const { body } = await exchange(grid, code)

  expect((await exchange(grid, code, { client_id: await otherClient(grid) })).body.error).toBe('invalid_grant')

  expect(await mcpAccess(grid, body.access_token)).toBe('admin tools')
})

test.each(['role', 'agent'] as const)(
  'a code is refused if the %s was lost before it is used',
  async (end) => {
    // Another user's grant is valid, and must not be mistaken for the grant of the code.
    await obtainTokens(grid, undefined, { browser: await signedInPerson(grid, 'owner') })
    const code = await codeFor(grid, end === 'agent' ? agent() : undefined)

    if (end === 'agent') await deleteAgent(grid.acme.store, 'alice')
    else await setRole(grid, grid.ann, 'member')

    expect((await exchange(grid, code)).body.error).toBe('invalid_grant')
  },
)

test.each(['client_secret_post', 'client_secret_basic'])(
  'a client registered with %s can authenticate only by this method',
  async (method) => {
    const registration = await grid.post(`${issuer}/oauth/register`, {
      redirect_uris: [callback],
      token_endpoint_auth_method: method,
    })
    const { client_id, client_secret, client_secret_expires_at } = await registration.json()
    expect(client_secret).toMatch(/^grid_cs_\w{49}$/)
    expect(client_secret_expires_at).toBe(0)
    const code = await codeFor(grid, undefined, { client_id })
    const basic = (secret: string) => ({ Authorization: `Basic ${btoa(`${client_id}:${encodeURIComponent(secret)}`)}` })
    const form = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: 'v'.repeat(64) }
    const ways = {
      client_secret_post: () => postForm(grid, '/oauth/token', { ...form, client_id, client_secret }),
      client_secret_basic: () => postForm(grid, '/oauth/token', form, basic(client_secret)),
    }
    const wrong = [
      () => postForm(grid, '/oauth/token', { ...form, client_id }),
      () => postForm(grid, '/oauth/token', { ...form, client_id, client_secret: `${client_secret}x` }),
      () => postForm(grid, '/oauth/token', form, basic('x')),
      ...Object.entries(ways).filter(([name]) => name !== method).map(([, way]) => way),
    ]

    for (const way of wrong) expect(await way()).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    const differing = await postForm(grid, '/oauth/token', { ...form, client_id, client_secret }, basic('x'))
    expect(differing).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect((await ways[method as keyof typeof ways]()).status).toBe(200)
    const again = { ...form, client_id, client_secret, code: await codeFor(grid, undefined, { client_id }) }
    expect((await postForm(grid, '/oauth/token', again, basic(client_secret))).status).toBe(200)
  },
)

test('a client without a secret can send its id alone in Basic authentication', async () => {
  const form = {
    grant_type: 'authorization_code',
    code: await codeFor(grid),
    redirect_uri: callback,
    code_verifier: 'v'.repeat(64),
  }
  const headers = { Authorization: `Basic ${btoa(`${grid.clientId}:`)}` }

  expect((await postForm(grid, '/oauth/token', form, headers)).status).toBe(200)
})

test('a refused client with Basic authentication gets a challenge', async () => {
  const headers = { Authorization: `Basic ${btoa('nobody:x')}` }
  const { status, headers: answered } = await postForm(grid, '/oauth/token', { grant_type: 'refresh_token' }, headers)

  expect(status).toBe(401)
  expect(answered.get('www-authenticate')).toBe('Basic realm="agent-grid"')
})

test('a token request with a duplicate field or with more than 16 KiB is refused', async () => {
  const twice = await postForm(grid, '/oauth/token', [['grant_type', 'refresh_token'], ['grant_type', 'refresh_token']])
  const large = await postForm(grid, '/oauth/token', { grant_type: 'x'.repeat(17_000) })

  expect(twice).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(large.status).toBe(413)
})

test('no code, token or secret is stored in plain text', async () => {
  const code = await codeFor(grid)
  const { body } = await exchange(grid, code)

  const tables = await Promise.all([
    rows(grid, 'SELECT * FROM oauth_clients'),
    rows(grid, 'SELECT * FROM oauth_requests'),
    rows(grid, 'SELECT * FROM oauth_grants WHERE account_id = ?', [grid.acme.id]),
    rows(grid, 'SELECT * FROM oauth_tokens WHERE account_id = ?', [grid.acme.id]),
  ])

  const text = JSON.stringify(tables)
  for (const secret of [code, body.access_token, body.refresh_token, grid.ann.visitor.sessionId]) {
    expect(text).not.toContain(secret)
  }
})

test('the S256 challenge matches RFC 7636, and a verifier has 43 to 128 unreserved characters', () => {
  expect(codeChallengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'))
    .toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
  const verifiers = ['a'.repeat(42), 'a'.repeat(43), 'a'.repeat(128), 'a'.repeat(129), `${'a'.repeat(43)}+`]
  const challenges = verifiers.map(codeChallengeOf)
  expect(challenges.map((challenge) => challenge !== undefined)).toEqual([false, true, true, false, false])
})
