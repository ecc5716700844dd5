/** Responses to the consent page: Allow, Deny, and their checks. See docs/security.md, "OAuth". */
import { beforeEach, expect, test } from 'vitest'
import { minute } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import {
  callback,
  exchange,
  issuer,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  openConsentPage,
  redirectParameters,
  signedIn,
  submitConsent,
} from '../support/oauth.ts'
import { addPasskey } from '../support/second-factor.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

const admin = () => `admin:${grid.acme.id}`
const agent = (agent = grid.alice) => `agent:${agent.id}`

test('Allow redirects with code, state and iss, each once, and the code yields tokens for the chosen entry', async () => {
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

test('consent as @admin requires a confirmation within ten minutes, and consent as an agent requires none', async () => {
  grid.clock.now += 10 * minute
  const { handle } = await openConsentPage(grid, grid.ann)

  const asked = await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })

  expect(asked.status).toBe(303)
  const to = new URL(asked.headers.get('location')!, issuer)
  expect(to.pathname).toBe('/confirm')
  expect(to.searchParams.get('next')).toMatch(/^\/oauth\/authorize\?.*client_id=/)
  expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toEqual([])
  const response = await submitConsent(grid, grid.ann, { handle, pick: agent(), decision: 'allow' })
  expect(redirectParameters(response).code).toMatch(/^\w{43}$/)
})

test('a session that waits for its second factor cannot authorize a client', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  await addPasskey(grid, grid.ann.visitor.user, 'Laptop')
  await grid.store.write([{ sql: 'UPDATE sessions SET awaits_second_factor = 1', args: [] }])

  const shown = await grid.request(
    `/oauth/authorize?${new URLSearchParams({ client_id: grid.clientId, redirect_uri: callback })}`,
    { headers: { cookie: [...grid.ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ') } },
  )
  const response = await submitConsent(grid, grid.ann, { handle, pick: agent(), decision: 'allow' })

  expect(shown.headers.get('location')).toMatch(/^\/sign-in\?next=/)
  expect(response.status).toBe(401)
  expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toEqual([])
})

test('Deny redirects with access_denied, state and iss', async () => {
  const { handle } = await openConsentPage(grid, grid.ann)

  const response = await submitConsent(grid, grid.ann, { handle, decision: 'deny' })

  expect(response.status).toBe(303)
  expect(redirectParameters(response)).toMatchObject({ error: 'access_denied', state: 'x7', iss: issuer })
  expect((await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' })).status).toBe(400)
})

test('a consent page can be answered once, even with 20 concurrent responses', async () => {
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

test.each<[string, () => Record<string, string> | Promise<Record<string, string>>]>([
  ['an entry of another account', () => ({ pick: `admin:${grid.evil.id}` })],
  ['an unknown entry', () => ({ pick: 'admin:x' })],
  ['an unknown handle', () => ({ pick: admin(), handle: 'x'.repeat(43) })],
  [
    'the handle of another user',
    async () => ({ pick: admin(), handle: (await openConsentPage(grid, grid.ed)).handle }),
  ],
  ['an unknown decision', () => ({ pick: admin(), decision: 'maybe' })],
])('a consent with %s gets 400 and creates no grant', async (_, changes) => {
  const { handle } = await openConsentPage(grid, grid.ann)

  const response = await submitConsent(grid, grid.ann, { handle, decision: 'allow', ...(await changes()) })

  expect(response.status).toBe(400)
  for (const { id } of [grid.acme, grid.evil]) {
    expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [id])).toEqual([])
  }
})

test('the answer to a consent page that another browser or session opened, or that is ten minutes old, gets 400', async () => {
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

test('two tabs have independent consent pages, each with its own cookie', async () => {
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

test("a consent form with another session's CSRF token gets 403 and creates no grant", async () => {
  const { handle } = await openConsentPage(grid, grid.ann)
  const csrf = 'csrf of another session'

  const response = await submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow', csrf })

  expect(response.status).toBe(403)
  expect(await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])).toEqual([])
})
