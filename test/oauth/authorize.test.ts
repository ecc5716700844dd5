/** `/oauth/authorize`: errors, the entries of the picker, and the checks of the decision. See docs/security.md, "Consent page". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { minute } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import {
  authorizeQuery,
  browse,
  callback,
  codeFor,
  exchange,
  issuer,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  openConsentPage,
  redirectParameters,
  setRole,
  signedIn,
  signedInPerson,
  submitConsent,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})
afterEach(() => grid.close())

const admin = () => `admin:${grid.acme.id}`
const agent = (agent = grid.alice) => `agent:${agent.id}`

test.each<[string, Record<string, string | undefined>]>([
  ['an unknown client', { client_id: 'unknown' }],
  ['no client', { client_id: undefined }],
  ['an unregistered redirect URI', { redirect_uri: 'https://evil.example/cb' }],
  ['no redirect URI', { redirect_uri: undefined }],
  ['another path on the loopback host', { redirect_uri: 'http://127.0.0.1:4100/other' }],
  ['another name of the loopback host', { redirect_uri: 'http://localhost:4100/callback' }],
  ['https on the loopback host', { redirect_uri: 'https://127.0.0.1:4100/callback' }],
  ['a client document that cannot be fetched', { client_id: 'https://client.example/metadata.json' }],
])('%s leads to an error page and never to a redirect', async (_, changes) => {
  const { response, html } = await openConsentPage(grid, grid.ann, changes)

  expect(response.status).toBe(400)
  expect(response.headers.get('location')).toBeNull()
  expect(response.headers.get('content-security-policy')).toContain("form-action 'self';")
  expect(html).not.toContain('evil.example')
})

test.each(['state', 'client_id', 'redirect_uri', 'scope', 'code_challenge'])(
  '%s sent twice leads to an error page',
  async (name) => {
    const query = await authorizeQuery(grid, { scope: 'admin' })
    query.append(name, query.get(name)!)

    const response = await browse(grid, grid.ann, `/oauth/authorize?${query}`)

    expect(response.status).toBe(400)
  },
)

test.each<[string, Record<string, string | undefined>, string]>([
  ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
  ['PKCE plain', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['no PKCE method, which means plain', { code_challenge_method: undefined }, 'invalid_request'],
  ['a method without a challenge', { code_challenge: undefined }, 'invalid_request'],
  ['a short challenge', { code_challenge: 'short' }, 'invalid_request'],
  ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
  ['a hybrid flow', { response_type: 'code token' }, 'unsupported_response_type'],
  ['no response type', { response_type: undefined }, 'unsupported_response_type'],
  ['a foreign resource', { resource: 'https://other.example/mcp/v1/grid' }, 'invalid_target'],
  ['the resource with a slash', { resource: 'https://api.grid.example/mcp/v1/grid/' }, 'invalid_target'],
  ['the A2A endpoint as resource', { resource: 'https://api.grid.example/a2a/v1/grid' }, 'invalid_target'],
])('%s is reported by redirect with state and iss', async (_, changes, error) => {
  const { response } = await openConsentPage(grid, grid.ann, changes)

  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toMatch(/^http:\/\/127\.0\.0\.1:4100\/callback\?/)
  expect(redirectParameters(response)).toEqual({
    error,
    error_description: expect.any(String),
    state: 'x7',
    iss: issuer,
  })
})

test.each<[string, Record<string, string | undefined>]>([
  ['no resource', { resource: undefined }],
  ['the resource with another case of its host', { resource: 'HTTPS://API.grid.example/mcp/v1/grid' }],
  ['the legacy path', { resource: 'https://grid.example/api/v1/grid' }],
  ['prompt=consent', { prompt: 'consent' }],
  ['unknown scopes', { scope: 'openid offline_access' }],
  ['unknown parameters', { nonce: 'n' }],
  ['another loopback port', { redirect_uri: 'http://127.0.0.1:51234/callback' }],
  ['no loopback port', { redirect_uri: 'http://127.0.0.1/callback' }],
])('a request with %s is valid', async (_, changes) => {
  const { response, picks } = await openConsentPage(grid, grid.ann, changes)

  expect(response.status).toBe(200)
  expect(picks).toContain(admin())
})

test('without a live session the user signs in first and returns to the same request', async () => {
  const anonymous = { visitor: grid.ann.visitor, cookies: new Map([['session', 'half']]) }
  const query = await authorizeQuery(grid)

  const response = await browse(grid, anonymous, `/oauth/authorize?${query}`)

  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe(`/sign-in?next=${encodeURIComponent(`/oauth/authorize?${query}`)}`)
})

test('the picker lists the @admin entries with a badge first, then the agents', async () => {
  const { html, picks, response } = await openConsentPage(grid, grid.ann)

  expect(picks).toEqual([admin(), agent(grid.alice), agent(grid.bob)])
  expect(html).toMatch(/@admin \(Acme\) <span class="badge[^"]*">Admin<\/span>/)
  expect(html.indexOf('127.0.0.1:4100')).toBeLessThan(html.indexOf('Demo'))
  expect(html).toContain('ann@acme.example')
  expect(html).not.toContain('Evil')
  const policy = response.headers.get('content-security-policy')
  expect(policy).toContain("form-action 'self' http://127.0.0.1:4100;")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(response.headers.get('x-frame-options')).toBe('DENY')
  expect(response.headers.get('cache-control')).toBe('no-store')
  // `no-referrer` would make browsers send the form with `Origin: null`.
  expect(response.headers.get('referrer-policy')).toBe('same-origin')
})

test.each(
  [
    ['owner', ['admin', 'alice', 'bob']],
    ['admin', ['admin', 'alice', 'bob']],
    ['member', ['alice', 'bob']],
    ['viewer', []],
    [undefined, []],
  ] as const,
)('a user with the role %s sees %j', async (role, expected) => {
  const names: Record<string, string> = { [admin()]: 'admin', [agent()]: 'alice', [agent(grid.bob)]: 'bob' }

  const { picks, html } = await openConsentPage(grid, await signedInPerson(grid, role))

  expect(picks.map((pick) => names[pick])).toEqual(expected)
  if (expected.length === 0) expect(html).not.toContain('value="allow"')
  expect(html).toContain('value="deny"')
})

test.each([
  ['agent:use', ['agent', 'agent']],
  ['admin', ['admin']],
  ['admin agent:use offline_access', ['admin', 'agent', 'agent']],
])('a request for scope %s shows only those entries: %j', async (scope, kinds) => {
  const { picks } = await openConsentPage(grid, grid.ann, { scope })

  expect(picks.map((pick) => pick.split(':')[0])).toEqual(kinds)
})

test('a request for agents cannot be answered with @admin, and a member sees no entries for the admin scope', async () => {
  const forAgents = await openConsentPage(grid, grid.ann, { scope: 'agent:use' })
  const member = await signedInPerson(grid, 'member')
  const forAdmin = await openConsentPage(grid, member, { scope: 'admin' })

  const upscoped = await submitConsent(grid, grid.ann, { handle: forAgents.handle, pick: admin(), decision: 'allow' })
  const forged = await submitConsent(grid, member, { handle: forAdmin.handle, pick: admin(), decision: 'allow' })

  expect([upscoped.status, forged.status]).toEqual([400, 400])
  expect(forAdmin.picks).toEqual([])
})

test('deleted agents, agents of other types and agents of other accounts are not listed', async () => {
  await deleteAgent(grid.acme.store, 'bob')
  await grid.acme.agent('remote', { type: 'a2a', remoteUrl: 'https://remote.example/' })
  await grid.acme.agent('someone', { type: 'human' })

  const { picks } = await openConsentPage(grid, grid.ann)

  expect(picks).toEqual([admin(), agent(grid.alice)])
})

test('many agents are found with the search, without a script', async () => {
  for (let n = 0; n < 55; n++) await grid.acme.agent(`robot-${n}`)

  const all = await openConsentPage(grid, grid.ann)
  const found = await openConsentPage(grid, grid.ann, { find: '@ROBOT-54' })

  expect(all.picks).toHaveLength(1 + 50)
  expect(all.html).toContain('There are more agents')
  expect(found.picks).toHaveLength(1 + 1)
  expect(found.html).toContain('@robot-54')
  expect(found.html).toContain('name="client_id"')
})

test('client names are escaped, cleaned and cut, and the redirect host comes first', async () => {
  const hostile = '<script>alert(1)</script>\u202egrid\u200b' + 'x'.repeat(200)
  const registration = await grid.post(`${issuer}/oauth/register`, {
    client_name: hostile,
    redirect_uris: ['https://evil.example/cb'],
    logo_uri: 'https://evil.example/logo.png',
  })
  const { client_id, client_name } = await registration.json()

  const { html } = await openConsentPage(grid, grid.ann, { client_id, redirect_uri: 'https://evil.example/cb' })

  expect(client_name).toHaveLength(80)
  expect(html).not.toMatch(/<script(?! src="\/assets\/)|\u202e|\u200b|logo\.png|<img/)
  expect(html).toContain('registered itself, unverified')
  expect(html.indexOf('evil.example')).toBeLessThan(html.indexOf('alert(1)'))
})

test('Allow redirects with a code, state and iss, each once, and the code yields tokens of the chosen entry', async () => {
  for (const [pick, tools] of [[admin(), 'admin tools'], [agent(), 'agent tools']]) {
    const { handle } = await openConsentPage(grid, grid.ann)
    const response = await submitConsent(grid, grid.ann, { handle, pick, decision: 'allow' })

    expect(response.status).toBe(303)
    const location = response.headers.get('location')!
    expect(location.match(/[?&]iss=/g)).toHaveLength(1)
    expect(redirectParameters(response)).toEqual({ code: expect.stringMatching(/^\w{43}$/), state: 'x7', iss: issuer })
    const { status, body, headers } = await exchange(grid, redirectParameters(response).code)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      access_token: expect.stringMatching(/^grid_oat_\w{49}$/),
      token_type: 'Bearer',
      expires_in: tools === 'admin tools' ? 3_600 : 28_800,
      refresh_token: expect.stringMatching(/^grid_ort_\w{49}$/),
      scope: tools === 'admin tools' ? 'admin' : 'agent:use',
    })
    expect(await mcpAccess(grid, body.access_token)).toBe(tools)
  }
})

test('Deny redirects with access_denied, state and iss', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)

  const response = await submitConsent(grid, grid.ann, { handle, decision: 'deny' })

  expect(response.status).toBe(303)
  expect(redirectParameters(response)).toMatchObject({ error: 'access_denied', state: 'x7', iss: issuer })
  expect((await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })).status).toBe(400)
})

test('without state in the request there is none in the redirect', async () => {
  const { handle } = await openConsentPage(grid, grid.ann, { state: undefined })

  const response = await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })

  expect(redirectParameters(response)).toEqual({ code: expect.any(String), iss: issuer })
})

test('a page is answered once, also by 20 concurrent answers', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  const cookies = new Map(grid.ann.cookies)

  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      () =>
        submitConsent(grid, { ...grid.ann, cookies: new Map(cookies) }, { handle, pick: admin(), decision: 'allow' }),
    ),
  )

  expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array(19).fill(400)])
  expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toHaveLength(1)
})

test.each<[string, () => Promise<Record<string, string>>]>([
  ['an entry of another account', () => Promise.resolve({ pick: `admin:${grid.evil.id}` })],
  ['an agent of another account', () => Promise.resolve({ pick: agent(grid.eve) })],
  ['no entry', () => Promise.resolve({ pick: '' })],
  ['an unknown entry', () => Promise.resolve({ pick: 'admin:x' })],
  ['no handle', () => Promise.resolve({ pick: admin(), handle: '' })],
  ['an unknown handle', () => Promise.resolve({ pick: admin(), handle: 'x'.repeat(43) })],
  [
    'the handle of another user',
    async () => ({ pick: admin(), handle: (await openConsentPage(grid, grid.ed)).handle }),
  ],
  ['an unknown decision', () => Promise.resolve({ pick: admin(), decision: 'maybe' })],
])('%s is 400 and grants nothing', async (_, changes) => {
  const { handle } = await openConsentPage(grid, grid.ann)

  const response = await submitConsent(grid, grid.ann, { handle, decision: 'allow', ...(await changes()) })

  expect(response.status).toBe(400)
  expect(
    await rows(
      grid,
      'SELECT id FROM oauth_grants WHERE account_id IN (?, ?)'.replace('IN (?, ?)', '= ? OR account_id = ?'),
      [grid.acme.id, grid.evil.id],
    ),
  ).toEqual([])
})

test("another browser's page, another session's page and an old page are 400", async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  const decision = { handle, pick: admin(), decision: 'allow' }
  const sessionAlone = [...grid.ann.cookies].filter(([name]) => name.endsWith('session'))
  const withoutCookie = { ...grid.ann, cookies: new Map(sessionAlone) }
  const other = await signedIn(grid, grid.ann.visitor.user)
  const otherSession = { ...other, cookies: new Map([...grid.ann.cookies, ...other.cookies]) }

  expect((await submitConsent(grid, withoutCookie, decision)).status).toBe(400)
  expect((await submitConsent(grid, otherSession, decision)).status).toBe(400)
  grid.clock.now += 10 * minute
  expect((await submitConsent(grid, grid.ann, decision)).status).toBe(400)
})

test('two tabs have independent pages, each with its own cookie', async () => {
  const first = await openConsentPage(grid, grid.ann)
  const second = await openConsentPage(grid, grid.ann)

  const cookies = [first, second].map(({ response }) => response.headers.getSetCookie()[0])
  for (const cookie of cookies) {
    expect(cookie).toMatch(
      /^__Host-grid-consent-[0-9a-f]{12}=\w{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
  }
  for (const { handle } of [second, first]) {
    expect((await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })).status).toBe(303)
  }
})

test.each<[string, Record<string, string>, Record<string, string>]>([
  ['no csrf token', { csrf: '' }, {}],
  ["another session's csrf token", { csrf: 'csrf of another session' }, {}],
  ['a foreign Origin', {}, { Origin: 'https://evil.example' }],
])('%s is 403 and grants nothing', async (_, fields, headers) => {
  const { handle } = await openConsentPage(grid, grid.ann)

  const response = await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow', ...fields }, headers)

  expect(response.status).toBe(403)
  expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toEqual([])
})

test.each(['application/json', 'text/plain', 'multipart/form-data; boundary=x'])(
  'an answer of type %s is rejected',
  async (type) => {
    const { handle } = await openConsentPage(grid, grid.ann)

    const response = await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' }, {
      'Content-Type': type,
    })

    expect(response.status).toBe(400)
  },
)

test('a user who lost the role after the page was shown grants nothing', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  await setRole(grid, grid.ann, 'member')

  const response = await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })

  expect(redirectParameters(response)).toMatchObject({ error: 'access_denied', state: 'x7', iss: issuer })
  expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toEqual([])
})

test('an agent that was deleted after the page was shown is not granted', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  await deleteAgent(grid.acme.store, 'alice')

  const response = await submitConsent(grid, grid.ann, { handle, pick: agent(), decision: 'allow' })

  expect(redirectParameters(response)).toMatchObject({ error: 'access_denied' })
})

test('a new agent is created on the page, logged, and preselected when the page is shown again', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)

  const made = await submitConsent(grid, grid.ann, {
    handle,
    decision: 'new-agent',
    account: grid.acme.id,
    alias: '@fresh',
  })
  const back = await browse(grid, grid.ann, made.headers.get('location')!)
  const html = await back.text()

  expect(made.status).toBe(303)
  expect(html).toMatch(/value="agent:[\w-]+" required="" checked=""\/>(?:(?!<input)[\s\S])*@fresh/)
  expect(await grid.acme.store.read.activity.list()).toMatchObject([
    { tool: 'admin_create_agent', outcome: 'ok', userId: grid.ann.visitor.user.id },
  ])
  const pick = html.match(/value="(agent:[^"]+)"/)![1]
  const fresh = html.match(/name="handle" value="([^"]+)"/)![1]
  const code = redirectParameters(await submitConsent(grid, grid.ann, { handle: fresh, pick, decision: 'allow' })).code
  expect(await mcpAccess(grid, (await exchange(grid, code)).body.access_token)).toBe('agent tools')
})

test('a new agent cannot be created in a foreign account, nor by a member', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  const member = await signedInPerson(grid, 'member')
  const page = await openConsentPage(grid, member)

  const elsewhere = await submitConsent(grid, grid.ann, {
    handle,
    decision: 'new-agent',
    account: grid.evil.id,
    alias: 'spy',
  })
  const asMember = await submitConsent(grid, member, {
    handle: page.handle,
    decision: 'new-agent',
    account: grid.acme.id,
    alias: 'spy',
  })

  expect([elsewhere.status, asMember.status]).toEqual([400, 400])
  expect(page.html).not.toContain('new-agent')
  expect(await rows(grid, "SELECT id FROM agents WHERE account_id = ? AND alias = 'spy'", [grid.evil.id])).toEqual([])
})

test('a user who lost the role after the page was shown cannot create an agent', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  await setRole(grid, grid.ann, 'member')

  const made = await submitConsent(grid, grid.ann, {
    handle,
    decision: 'new-agent',
    account: grid.acme.id,
    alias: 'late',
  })

  expect(made.status).toBe(403)
  expect(await rows(grid, "SELECT id FROM agents WHERE account_id = ? AND alias = 'late'", [grid.acme.id])).toEqual([])
})

test('a user has at most 20 pending requests, and a browser at most 10 consent cookies', async () => {
  for (let n = 0; n < 25; n++) await openConsentPage(grid, grid.ann)

  expect(await rows(grid, 'SELECT handle_hash FROM oauth_requests')).toHaveLength(20)
  expect(grid.ann.cookies.size).toBe(1 + 10)
})

test('a private-use scheme and the two exact addresses work', async () => {
  const uris = ['cursor://anysphere.cursor-mcp/oauth/callback', 'com.example.app:/callback', 'ftp://x/y']
  const registration = await grid.post(`${issuer}/oauth/register`, { redirect_uris: uris })
  const { client_id, redirect_uris } = await registration.json()
  expect(redirect_uris).toEqual(uris.slice(0, 2))

  for (const redirect_uri of redirect_uris) {
    const { response, handle } = await openConsentPage(grid, grid.ann, { client_id, redirect_uri })
    expect(response.headers.get('content-security-policy')).toContain(
      `form-action 'self' ${redirect_uri.split(':')[0]}:;`,
    )
    const answered = await submitConsent(grid, grid.ann, { handle, pick: agent(), decision: 'allow' })
    expect(answered.headers.get('location')).toMatch(new RegExp(`^${redirect_uri.replaceAll('.', '\\.')}\\?code=`))
  }
})

test('sign-in comes before any redirect to a client, also for invalid requests', async () => {
  const registered = await grid.post(`${issuer}/oauth/register`, { redirect_uris: ['https://phish.example/'] })
  const client = { client_id: (await registered.json()).client_id, redirect_uri: 'https://phish.example/' }
  const query = await authorizeQuery(grid, { ...client, response_type: 'token' })
  const path = `/oauth/authorize?${query}`

  const anonymous = await grid.request(`${issuer}${path}`)
  const signedInUser = await browse(grid, grid.ann, path)

  expect(anonymous.headers.get('location')).toBe(`/sign-in?next=${encodeURIComponent(path)}`)
  expect(redirectParameters(signedInUser)).toMatchObject({ error: 'unsupported_response_type' })
})

test('the same client needs consent again', async () => {
  await codeFor(grid)

  const { response, picks } = await openConsentPage(grid, grid.ann)

  expect(response.status).toBe(200)
  expect(picks).not.toEqual([])
  expect(callback).toContain('127.0.0.1')
})
