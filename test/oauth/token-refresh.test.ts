/** Refresh tokens, and the events that end a grant's tokens. See docs/security.md, "OAuth". */
import { beforeEach, expect, test } from 'vitest'
import type { Role } from '../../src/auth/actor.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { listOwnGrants } from '../../src/grid/oauth/grants.ts'
import { leaveAccount, removeMember, setMemberRole } from '../../src/grid/people/team.ts'
import { day, hour, second } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import {
  codeFor,
  exchange,
  fetchApiKey,
  gridUrl,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  otherClient,
  refresh,
  setRole,
  signedInPerson,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

const agent = () => `agent:${grid.alice.id}`

test('a refresh token can be exchanged for a new pair, repeatedly', async () => {
  let tokens = await obtainTokens(grid, agent())

  for (let n = 0; n < 3; n++) {
    grid.clock.now += 8 * hour
    expect(await mcpAccess(grid, tokens.access_token)).toBe('401')
    const { status, body } = await refresh(grid, tokens.refresh_token, { resource: gridUrl })
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 28_800, scope: 'agent:use' })
    expect(await mcpAccess(grid, body.access_token)).toBe('agent tools')
    tokens = body
  }
})

test('within the grace period, a used refresh token yields another token pair', async () => {
  const first = await obtainTokens(grid)
  const second1 = (await refresh(grid, first.refresh_token)).body
  grid.clock.now += 120 * second - 1
  const again = await refresh(grid, first.refresh_token)

  expect(again.status).toBe(200)
  expect(again.body.refresh_token).not.toBe(second1.refresh_token)
  for (const { access_token } of [first, second1, again.body]) {
    expect(await mcpAccess(grid, access_token)).toBe('admin tools')
  }
  expect(await rows(grid, 'SELECT DISTINCT grant_id FROM oauth_tokens WHERE account_id = ?', [grid.acme.id]))
    .toHaveLength(1)
})

test('after the grace period, a used refresh token revokes the grant with its access tokens', async () => {
  const first = await obtainTokens(grid)
  const second1 = (await refresh(grid, first.refresh_token)).body
  grid.clock.now += 120 * second

  expect((await refresh(grid, first.refresh_token)).body).toMatchObject({
    error: 'invalid_grant',
    error_description: expect.stringContaining('already used'),
  })

  expect(await mcpAccess(grid, second1.access_token)).toBe('401')
  expect((await refresh(grid, second1.refresh_token)).body.error).toBe('invalid_grant')
})

test('within the grace period, an old refresh token is accepted even if its successor was already used', async () => {
  const first = await obtainTokens(grid)
  const next = (await refresh(grid, first.refresh_token)).body
  const last = (await refresh(grid, next.refresh_token)).body
  grid.clock.now += second

  const third = await refresh(grid, first.refresh_token)

  expect(third.status).toBe(200)
  for (const { access_token } of [next, last, third.body]) {
    expect(await mcpAccess(grid, access_token)).toBe('admin tools')
  }
  expect((await refresh(grid, last.refresh_token)).status).toBe(200)
})

test('a used refresh token yields one more pair per second, and at most five', async () => {
  const first = await obtainTokens(grid)
  const next = (await refresh(grid, first.refresh_token)).body
  const at = async () =>
    (await Promise.all(Array.from({ length: 20 }, () => refresh(grid, first.refresh_token))))
      .filter(({ status }) => status === 200).length
  const served = []
  for (let n = 0; n < 8; n++, grid.clock.now += second) served.push(await at())

  expect(served).toEqual([1, 1, 1, 1, 1, 0, 0, 0])
  const refused = await refresh(grid, first.refresh_token)
  expect([refused.status, refused.body.error]).toEqual([429, 'temporarily_unavailable'])
  expect((await refresh(grid, next.refresh_token)).status).toBe(200)
})

test("a refresh for another server's resource is refused, and the token stays valid", async () => {
  const { refresh_token } = await obtainTokens(grid)

  const refused = await refresh(grid, refresh_token, { resource: 'https://bank.example/mcp' })

  expect([refused.status, refused.body.error]).toEqual([400, 'invalid_target'])
  expect((await refresh(grid, refresh_token, { resource: gridUrl })).status).toBe(200)
})

test('another client cannot use a refresh token, and the attempt revokes nothing', async () => {
  const tokens = await obtainTokens(grid)

  const refused = await refresh(grid, tokens.refresh_token, { client_id: await otherClient(grid) })

  expect(refused.body.error).toBe('invalid_grant')
  expect((await refresh(grid, tokens.refresh_token)).status).toBe(200)
})

test('the tokens for a deleted agent are refused, even if its alias is used again', async () => {
  const tokens = await obtainTokens(grid, agent())
  await deleteAgent(grid.acme.store, 'alice')
  await grid.acme.agent('alice')

  expect(await mcpAccess(grid, tokens.access_token)).toBe('401')
  expect((await refresh(grid, tokens.refresh_token)).body.error).toBe('invalid_grant')
})

test('access tokens are valid for an hour for admins, and for OAUTH_AGENT_TTL for agents', async () => {
  const tokens = [await obtainTokens(grid), await obtainTokens(grid, agent())]
  const open = () => Promise.all(tokens.map(({ access_token }) => mcpAccess(grid, access_token)))

  grid.clock.now += hour - 1
  expect(await open()).toEqual(['admin tools', 'agent tools'])
  grid.clock.now += 1
  expect(await open()).toEqual(['401', 'agent tools'])
  grid.clock.now += 7 * hour - 1
  expect(await open()).toEqual(['401', 'agent tools'])
  grid.clock.now += 1
  expect(await open()).toEqual(['401', '401'])
})

test('a refresh token is valid for 30 days after its last use, and a grant for 90 days in total', async () => {
  const idle = await obtainTokens(grid)
  let used = await obtainTokens(grid)
  for (let n = 0; n < 3; n++) {
    grid.clock.now += 30 * day - 1
    const { status, body } = await refresh(grid, used.refresh_token)
    expect(status).toBe(200)
    used = body
  }

  expect((await refresh(grid, idle.refresh_token)).body.error).toBe('invalid_grant')
  expect(used.expires_in).toBe(0)
  grid.clock.now += 3
  expect((await refresh(grid, used.refresh_token)).body.error).toBe('invalid_grant')
})

test.each<[string, string | undefined, string, number, string]>([
  ['the scope it has', 'admin', 'admin', 200, 'admin'],
  ['a list that holds it', 'agent:use admin offline_access', 'admin', 200, 'admin'],
  ['no known scope', 'offline_access', 'agent', 200, 'agent:use'],
  ['more than it has', 'admin', 'agent', 400, 'invalid_scope'],
])('a refresh that requests %s has the right scope or error', async (_, scope, of, status, outcome) => {
  const tokens = await obtainTokens(grid, of === 'agent' ? agent() : undefined)

  const answer = await refresh(grid, tokens.refresh_token, { scope })

  expect(answer.status).toBe(status)
  expect(answer.body.scope ?? answer.body.error).toBe(outcome)
})

const as = (userId: string, role: Role) =>
  grid.store.account(grid.acme.id, { type: 'user', userId, role, sessionId: 'test', confirmedAt: grid.clock.now })

const ends: [how: Role | 'removal' | 'leaving', admin: string, agent: string][] = [
  ['owner', 'admin tools', 'agent tools'],
  ['member', '401', 'agent tools'],
  ['viewer', '401', '401'],
  ['removal', '401', '401'],
  ['leaving', '401', '401'],
]
test.each(ends)('regaining a role restores no grants: after %s, admin %s, agent %s', async (how, admin, agent) => {
  const bea = await signedInPerson(grid, 'admin')
  const { id } = bea.visitor.user
  const asAdmin = await obtainTokens(grid, `admin:${grid.acme.id}`, { browser: bea })
  const asAgent = await obtainTokens(grid, `agent:${grid.alice.id}`, { browser: bea })
  const key = (await fetchApiKey(grid, asAgent.access_token)).body.apiKey
  const code = await codeFor(grid, `admin:${grid.acme.id}`, { browser: bea })
  const owner = as(grid.ann.visitor.user.id, 'owner')

  if (how === 'removal') await removeMember(owner, id)
  else if (how === 'leaving') await leaveAccount(as(id, 'admin'))
  else await setMemberRole(owner, { userId: id, role: how })
  await grid.store.write([grid.acme.store.change.team.addMember(id, 'admin', grid.clock.now)])
  await setRole(grid, bea, 'admin')

  expect([await mcpAccess(grid, asAdmin.access_token), await mcpAccess(grid, asAgent.access_token)]).toEqual([
    admin,
    agent,
  ])
  expect(await mcpAccess(grid, key)).toBe(agent)
  const statusFor = (access: string) => access === '401' ? 400 : 200
  expect((await refresh(grid, asAdmin.refresh_token)).status).toBe(statusFor(admin))
  expect((await refresh(grid, asAgent.refresh_token)).status).toBe(statusFor(agent))
  expect((await exchange(grid, code)).status).toBe(statusFor(admin))
})

test('removing a member keeps grants of other users, and of the same user in other accounts', async () => {
  const bea = await signedInPerson(grid, 'admin')
  const { id } = bea.visitor.user
  await grid.store.write([grid.evil.store.change.team.addMember(id, 'admin', grid.clock.now)])
  const elsewhere = await obtainTokens(grid, `admin:${grid.evil.id}`, { browser: bea })
  const others = await obtainTokens(grid)

  await removeMember(as(grid.ann.visitor.user.id, 'owner'), id)

  expect([await mcpAccess(grid, elsewhere.access_token), await mcpAccess(grid, others.access_token)])
    .toEqual(['admin tools', 'admin tools'])
  expect(await listOwnGrants(grid.store, id)).toMatchObject([{ accountName: 'Evil' }])
})
