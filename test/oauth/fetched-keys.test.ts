/** The static key that a client fetches for an agent with an access token. See docs/protocol/rest.md. */
import { beforeEach, expect, test } from 'vitest'
import { maxKeys, reissueKey } from '../../src/grid/agents/agent-settings.ts'
import { listGrants, listOwnGrants, revokeGrant, revokeOwnGrant } from '../../src/grid/oauth/grants.ts'
import { day, hour } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import {
  advanceClock,
  browse,
  exchange,
  fetchApiKey,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  openConsentPage,
  otherClient,
  postForm,
  redirectParameters,
  signedInPerson,
  submitConsent,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

const agent = () => `agent:${grid.alice.id}`
const keyOf = async (tokens: { access_token: string }): Promise<string> =>
  (await fetchApiKey(grid, tokens.access_token)).body.apiKey
const revoke = (token: string) => postForm(grid, '/oauth/revoke', { token, client_id: grid.clientId })
const page = async (path: string) => await (await browse(grid, grid.ann, path)).text()

test("an agent's access token can be used to fetch a static key, which replaces the client's earlier key", async () => {
  const tokens = await obtainTokens(grid, agent())

  const { status, body } = await fetchApiKey(grid, tokens.access_token)

  expect(status).toBe(200)
  expect(body).toEqual({
    apiKey: expect.stringMatching(/^grid_agt_\w{49}$/),
    alias: '@alice',
    agentId: grid.alice.id,
    name: 'Demo',
  })
  expect(await mcpAccess(grid, body.apiKey)).toBe('agent tools')
  const again = await keyOf(await obtainTokens(grid, agent()))
  expect([await mcpAccess(grid, body.apiKey), await mcpAccess(grid, again)]).toEqual(['401', 'agent tools'])
  const [stored] = await rows(
    grid,
    "SELECT name FROM credentials WHERE account_id = ? AND name <> '' AND agent_id = ?",
    [
      grid.acme.id,
      grid.alice.id,
    ],
  )
  expect(stored.name).toBe('Demo')
})

test('fetched keys with different names are valid together, and each replaces only the key of its own name', async () => {
  const fetch = async (name?: string) => {
    const { access_token } = await obtainTokens(grid, agent())
    return (await fetchApiKey(grid, access_token, name === undefined ? undefined : { name })).body.apiKey as string
  }
  const [laptop, desktop, plain] = [await fetch('claude on laptop'), await fetch('codex on desktop'), await fetch()]
  const again = await fetch('claude on laptop')

  const access = await Promise.all([laptop, desktop, plain, again].map((key) => mcpAccess(grid, key)))
  expect(access).toEqual(['401', 'agent tools', 'agent tools', 'agent tools'])
  const listed = await grid.acme.store.read.keys.ofAgent(grid.alice.id, grid.clock.now)
  expect(listed.map(({ name }) => name)).toEqual(['claude on laptop', 'Demo', 'codex on desktop', ''])
  const [row] = await grid.acme.store.read.activity.list({ limit: 1 })
  expect(row).toMatchObject({ tool: 'fetch_agent_key', arguments: expect.stringContaining('claude on laptop') })
})

test('two keys fetched with one grant are listed as one program, and end with the grant', async () => {
  const { access_token } = await obtainTokens(grid, agent())
  const keys = []
  for (const name of ['one', 'two']) keys.push((await fetchApiKey(grid, access_token, { name })).body.apiKey)

  const grants = await listGrants(grid.acme.store)
  expect(grants).toMatchObject([{ actsAs: '@alice', key: { last4: keys[1].slice(-4) } }])
  await revokeGrant(grid.acme.store, grants[0].id)
  expect(await Promise.all(keys.map((key) => mcpAccess(grid, key)))).toEqual(['401', '401'])
})

test.each([
  [{ name: 'x'.repeat(81) }, 'invalid_input'],
  [{ name: 'a\u202eb' }, 'invalid_input'],
  ['{', 'malformed_json'],
])('a request for a static key with the body %j is refused', async (body, code) => {
  const { access_token } = await obtainTokens(grid, agent())
  expect(await fetchApiKey(grid, access_token, body)).toMatchObject({ status: 400, body: { error: { code } } })
})

test('an agent has at most 50 keys, and a fetched one can still be replaced', async () => {
  const { access_token } = await obtainTokens(grid, agent())
  const fetch = (n: number) => fetchApiKey(grid, access_token, { name: `key ${n}` })
  // The agent already has a key, so the loop starts at 1.
  for (let n = 1; n < maxKeys; n++) expect((await fetch(n)).status).toBe(200)
  expect(await fetch(maxKeys)).toMatchObject({ status: 409, body: { error: { code: 'key_limit_reached' } } })
  expect((await fetch(1)).status).toBe(200)
})

test('a fetched key never replaces a key of an admin, another client, another person or another agent', async () => {
  const client_id = await otherClient(grid)
  const member = await signedInPerson(grid, 'member')
  const others = [
    grid.alice.key,
    await keyOf(await obtainTokens(grid, agent(), { browser: member })),
    await keyOf(await obtainTokens(grid, `agent:${grid.bob.id}`)),
  ]
  const { handle } = await openConsentPage(grid, grid.ann, { client_id })
  const allowed = await submitConsent(grid, grid.ann, { handle, pick: agent(), decision: 'allow' })
  others.push(await keyOf((await exchange(grid, redirectParameters(allowed).code, { client_id })).body))

  await keyOf(await obtainTokens(grid, agent()))

  for (const key of others) expect(await mcpAccess(grid, key)).toBe('agent tools')
})

const endings: [string, (id: string, refreshToken: string) => Promise<unknown>][] = [
  ['the user who gave it', (id) => revokeOwnGrant(grid.store, grid.ann.visitor, id, null)],
  ['an admin of the account', (id) => revokeGrant(grid.acme.store, id)],
  ['the client itself', (_, refreshToken) => revoke(refreshToken)],
]

test.each(endings)(
  'when %s revokes a grant, only the static key fetched with it is refused',
  async (_, end) => {
    const [one, other] = [await obtainTokens(grid, agent()), await obtainTokens(grid, `agent:${grid.bob.id}`)]
    const [key, otherKey] = [await keyOf(one), await keyOf(other)]
    const { id } = (await listGrants(grid.acme.store)).find(({ actsAs }) => actsAs === '@alice')!

    await end(id, one.refresh_token)

    expect(await mcpAccess(grid, key)).toBe('401')
    expect(await mcpAccess(grid, otherKey)).toBe('agent tools')
    expect(await mcpAccess(grid, grid.alice.key)).toBe('agent tools')
    expect(await mcpAccess(grid, grid.acme.adminKey)).toBe('admin tools')
  },
)

test('a fetched key is listed with its program even after the tokens expired, and expires after 90 days', async () => {
  const key = await keyOf(await obtainTokens(grid, agent()))
  const started = grid.clock.now
  const listed = async () => (await listOwnGrants(grid.store, grid.ann.visitor.user.id)).map(({ key }) => key?.last4)

  expect(await page(`/accounts/${grid.acme.id}/settings/sessions`)).toContain(`grid_agt_…${key.slice(-4)}`)
  await advanceClock(grid, 89 * day)
  expect(await page(`/accounts/${grid.acme.id}/settings/sessions`)).toContain(`grid_agt_…${key.slice(-4)}`)
  expect(await page(`/accounts/${grid.acme.id}/settings/account/programs`)).toContain(`grid_agt_…${key.slice(-4)}`)
  expect(await page(`/accounts/${grid.acme.id}/agents/alice/connect`)).toMatch(/Fetched by.*Demo.*Authorized by/s)
  expect(await mcpAccess(grid, key)).toBe('agent tools')

  grid.clock.now = started + 90 * day + hour
  expect(await listed()).toEqual([])
  expect(await mcpAccess(grid, key)).toBe('401')
  await grid.store.write(grid.store.global.oauth.removeExpired(grid.clock.now, 100))
  expect(await mcpAccess(grid, key)).toBe('401')
})

test('a new key that an admin creates for the agent replaces the fetched key and outlives the grant', async () => {
  const key = await keyOf(await obtainTokens(grid, agent()))
  const { apiKey: made } = await reissueKey(grid.acme.store, 'alice')
  const [grant] = await listGrants(grid.acme.store)

  expect([grant.key, await mcpAccess(grid, key)]).toEqual([null, '401'])
  await revokeGrant(grid.acme.store, grant.id)

  expect(await mcpAccess(grid, made)).toBe('agent tools')
})
