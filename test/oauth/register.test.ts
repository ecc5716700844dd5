/** Dynamic client registration (RFC 7591), with limits per address and in total. See docs/security.md. */
import { beforeEach, expect, test } from 'vitest'
import { day, hour, minute } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import {
  advanceClock,
  callback,
  exchange,
  issuer,
  type OAuthGrid,
  oauthGrid,
  openConsentPage,
  redirectParameters,
  submitConsent,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

async function register(metadata: unknown, address?: string) {
  const response = await grid.post(`${issuer}/oauth/register`, metadata, { Origin: 'https://app.example' }, address)
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** Stores `n` registered clients: `old 1`, `old 2` and so on. */
async function fill(n: number, { createdAt, lastUsedAt }: { createdAt: number; lastUsedAt: number | null }) {
  await rows(
    grid,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${n})
    INSERT INTO oauth_clients (id, kind, name, redirect_uris, auth_method, created_at, last_used_at, expires_at)
    SELECT 'old ' || i, 'registered', 'x', '[]', 'none', ?, ?, ? FROM n`,
    [createdAt, lastUsedAt, grid.clock.now + 30 * day],
  )
}

async function clientCount(): Promise<number> {
  return Number((await rows(grid, 'SELECT count(*) AS n FROM oauth_clients'))[0].n)
}

test('a registered client gets an id and the stored metadata', async () => {
  const { status, headers, body } = await register({
    client_name: 'Cursor',
    redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost:8787/callback', 'ftp://x/y'],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    application_type: 'web',
    scope: 'everything',
    logo_uri: 'javascript:alert(1)',
  })

  expect(status).toBe(201)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('access-control-allow-origin')).toBe('*')
  expect(body).toEqual({
    client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    client_id_issued_at: Math.floor(grid.clock.now / 1_000),
    client_name: 'Cursor',
    redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost:8787/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
})

test.each<[string, unknown]>([
  ['no redirect URI', {}],
  ['only bad ones', { redirect_uris: ['ftp://x/y', 'javascript:alert(1)', 'http://evil.example/cb'] }],
  ['items that are not strings', { redirect_uris: [1, null, {}] }],
])('a client registration with %s is refused', async (_, metadata) => {
  expect(await register(metadata)).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } })
})

test.each<[string, unknown]>([['broken JSON', '{'], ['a list', '[]'], ['text', '"x"'], ['null', 'null']])(
  'a client registration with %s as metadata is refused',
  async (_, body) => {
    expect(await register(body)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } })
  },
)

test('a client has at most 20 redirect URIs, without duplicates', async () => {
  const uris = Array.from({ length: 25 }, (_, n) => `https://client.example/${n}`)

  const { body } = await register({ redirect_uris: [uris[0], ...uris] })

  expect(body.redirect_uris).toEqual(uris.slice(0, 20))
})

test('of 200 registrations from one IPv6 /64, 60 are stored, and another network has its own limit', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => register({ redirect_uris: [callback] }, `2001:db8:0:1::${n.toString(16)}`)),
  )

  expect(answers.filter(({ status }) => status === 201)).toHaveLength(60)
  const refused = answers.find(({ status }) => status === 429)!
  expect(Number(refused.headers.get('retry-after'))).toBe(3_600)
  expect((await register({ redirect_uris: [callback] }, '2001:db8:0:2::1')).status).toBe(201)
  grid.clock.now += hour
  expect((await register({ redirect_uris: [callback] }, '2001:db8:0:1::1')).status).toBe(201)
})

test('with 10,000 clients, a registration removes the oldest unused client, and no used one', async () => {
  await fill(9_999, { createdAt: 0, lastUsedAt: null })
  await rows(grid, "UPDATE oauth_clients SET created_at = substr(id, 5) WHERE id LIKE 'old %'")
  await rows(grid, 'UPDATE oauth_clients SET last_used_at = created_at WHERE created_at < 100')
  // The client that `oauthGrid` registered is the 10,000th.
  const { body } = await register({ redirect_uris: [callback] })

  expect(await clientCount()).toBe(10_000)
  expect(
    await rows(grid, "SELECT id FROM oauth_clients WHERE id IN ('old 99', 'old 100', 'old 101', ?)", [
      body.client_id,
    ]),
  ).toHaveLength(3)
  expect(await rows(grid, "SELECT id FROM oauth_clients WHERE id = 'old 100'")).toEqual([])
})

test('with 20,000 clients in use, registration fails until some have been unused for 7 days', async () => {
  await fill(20_000, { createdAt: 0, lastUsedAt: grid.clock.now - 7 * day + 1 })
  await rows(grid, 'DELETE FROM oauth_clients WHERE last_used_at IS NULL')

  expect(await register({ redirect_uris: [callback] })).toMatchObject({
    status: 503,
    body: { error: 'temporarily_unavailable' },
  })
  grid.clock.now += 1
  expect((await register({ redirect_uris: [callback] })).status).toBe(201)
  expect(await clientCount()).toBe(19_001)
})

test('a flood of 10,000 registrations neither refuses a new client nor removes a 14-minute-old one', async () => {
  const { body } = await register({ redirect_uris: [callback] }, '192.0.2.1')
  await fill(9_500, { createdAt: grid.clock.now, lastUsedAt: null })
  grid.clock.now += minute
  for (let batch = 0; batch < 5; batch++) {
    const flood = await Promise.all(
      Array.from({ length: 100 }, (_, n) => register({ redirect_uris: [callback] }, `2001:db8:${batch}:${n}::1`)),
    )
    expect(flood.every(({ status }) => status === 201)).toBe(true)
  }

  grid.clock.now += 13 * minute
  expect((await register({ redirect_uris: [callback] }, '192.0.2.2')).status).toBe(201)
  expect(await clientCount()).toBe(10_003)
  expect((await openConsentPage(grid, grid.ann, { client_id: body.client_id })).response.status).toBe(200)
  grid.clock.now += 2 * minute
  expect((await register({ redirect_uris: [callback] }, '192.0.2.2')).status).toBe(201)
  expect(await clientCount()).toBe(10_000)
})

test("a user's 101st client removes the least recently used one, unless another user uses it", async () => {
  const login = async (client_id: string, who = grid.ann, pick = `admin:${grid.acme.id}`) => {
    grid.clock.now += 5_000
    const { handle } = await openConsentPage(grid, who, { client_id })
    const allowed = await submitConsent(grid, who, { handle, pick, decision: 'allow' })
    expect((await exchange(grid, redirectParameters(allowed).code, { client_id })).status).toBe(200)
  }
  let registered = 0
  const client = async () => {
    const { body } = await register({ redirect_uris: [callback] }, `198.51.100.${registered++}`)
    return String(body.client_id)
  }
  const [shared, first, second, third] = [await client(), await client(), await client(), await client()]
  const kept = async () => {
    const found = await rows(grid, 'SELECT id FROM oauth_clients')
    return [shared, first, second, third].map((id) => found.some((row) => row.id === id))
  }

  await login(shared, grid.ed, `admin:${grid.evil.id}`)
  for (const id of [shared, first, second]) await login(id)
  for (let n = 0; n < 97; n++) await login(await client())
  expect(await kept()).toEqual([true, true, true, true])
  await login(first)
  await login(await client())
  await login(third)

  expect(await kept()).toEqual([true, true, false, true])
})

test('an unused client expires after 30 days, and a used one 90 days after its last use', async () => {
  const client = async () => (await register({ redirect_uris: [callback] })).body.client_id
  const [unused, used] = [await client(), await client()]
  const { handle } = await openConsentPage(grid, grid.ann, { client_id: used })
  const allowed = await submitConsent(grid, grid.ann, { handle, pick: `admin:${grid.acme.id}`, decision: 'allow' })
  await exchange(grid, redirectParameters(allowed).code, { client_id: used })
  const status = async (client_id: string) => (await openConsentPage(grid, grid.ann, { client_id })).response.status

  await advanceClock(grid, 30 * day - 1)
  expect([await status(unused), await status(used)]).toEqual([200, 200])
  await advanceClock(grid, 1)
  expect([await status(unused), await status(used)]).toEqual([400, 200])
  await advanceClock(grid, 60 * day)
  expect(await status(used)).toBe(400)
})

test('OAUTH_DCR=off refuses client registration and does not advertise it', async () => {
  const closed = await oauthGrid({ env: { OAUTH_DCR: 'off' } })

  const response = await closed.post(`${issuer}/oauth/register`, { redirect_uris: [callback] })
  const metadata = await (await closed.request(`${issuer}/.well-known/oauth-authorization-server`)).json()

  expect(response.status).toBe(400)
  expect(metadata).not.toHaveProperty('registration_endpoint')
})
