/** The entries on the consent page, and creating an agent there. See docs/security.md, "OAuth". */
import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { rows } from '../support/database.ts'
import {
  browse,
  exchange,
  issuer,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  openConsentPage,
  redirectParameters,
  signedInPerson,
  submitConsent,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

const admin = () => `admin:${grid.acme.id}`
const agent = (agent = grid.alice) => `agent:${agent.id}`

test('the consent page lists @admin entries with a badge first, then agents', async () => {
  const { html, picks, response } = await openConsentPage(grid, grid.ann)

  expect(picks).toEqual([admin(), agent(grid.alice), agent(grid.bob)])
  expect(html).toMatch(/@admin \(<bdi>Acme<\/bdi>\) <span class="badge[^"]*">Admin<\/span>/)
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
)('on the consent page, a user with the role %s sees %j', async (role, expected) => {
  const names: Record<string, string> = { [admin()]: 'admin', [agent()]: 'alice', [agent(grid.bob)]: 'bob' }

  const { picks, html } = await openConsentPage(grid, await signedInPerson(grid, role))

  expect(picks.map((pick) => names[pick])).toEqual(expected)
  if (expected.length === 0) expect(html).not.toContain('value="allow"')
  expect(html).toContain('value="deny"')
})

test('a request for agents cannot be answered with @admin, and a member sees no entries for the scope admin', async () => {
  const forAgents = await openConsentPage(grid, grid.ann, { scope: 'agent:use' })
  const member = await signedInPerson(grid, 'member')
  const forAdmin = await openConsentPage(grid, member, { scope: 'admin' })

  const upscoped = await submitConsent(grid, grid.ann, { handle: forAgents.handle, pick: admin(), decision: 'allow' })
  const forged = await submitConsent(grid, member, { handle: forAdmin.handle, pick: admin(), decision: 'allow' })

  expect([upscoped.status, forged.status]).toEqual([400, 400])
  expect(forAdmin.picks).toEqual([])
  expect(forAgents.picks).toEqual([agent(grid.alice), agent(grid.bob)])
})

test('the consent page lists only agents that the user can act as', async () => {
  await deleteAgent(grid.acme.store, 'bob')
  await grid.acme.agent('remote', { type: 'a2a', remoteUrl: 'https://remote.example/' })

  expect((await openConsentPage(grid, grid.ann)).picks).toEqual([admin(), agent(grid.alice)])
})

test('many agents can be searched on the consent page without a script', async () => {
  for (let n = 0; n < 55; n++) await grid.acme.agent(`robot-${n}`)

  const all = await openConsentPage(grid, grid.ann)
  const found = await openConsentPage(grid, grid.ann, { find: '@ROBOT-54' })

  expect(all.picks).toHaveLength(1 + 50)
  expect(all.html).toContain('There are more agents')
  expect(found.picks).toHaveLength(1)
  expect(found.html).toContain('@robot-54')
  expect(found.html).toContain('name="client_id"')
})

test("the consent page shows agents' descriptions, and its search finds descriptions, accounts and @admin", async () => {
  const { id } = await grid.acme.agent('night-watch', { description: 'Reads logs <at night>' })
  const picksOf = async (find: string) => (await openConsentPage(grid, grid.ann, { find })).picks

  const { html } = await openConsentPage(grid, grid.ann)
  expect(html).toMatch(/@night-watch<\/span><span class="hint cut" dir="auto">Reads logs &lt;at night&gt;<\/span>/)
  expect(await picksOf('READS LOGS')).toEqual([`agent:${id}`])
  expect(await picksOf('acme')).toEqual([admin(), agent(grid.alice), agent(grid.bob), `agent:${id}`])
  expect(await picksOf('@admin')).toEqual([admin()])
  const nothing = await openConsentPage(grid, grid.ann, { find: 'no such thing' })
  expect(nothing.picks).toEqual([])
  expect(nothing.html).toContain('Nothing that you can choose contains this text')
  expect(nothing.html).toMatch(/<a [^>]*href="\/oauth\/authorize\?response_type=code[^"]*state=x7[^"]*">Show all/)
})

test('the consent page escapes, cleans and truncates client names, and shows the redirect host first', async () => {
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

test('an agent created on the consent page is logged, and preselected when the page is shown again', async () => {
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

test("on the consent page, no agent can be created in another user's account or by a member", async () => {
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

test('the consent page preselects the agent that the client asks for, even if it is not on the first page', async () => {
  for (let n = 0; n < 50; n++) await grid.acme.agent(`a-${n}`)
  const last = await grid.acme.agent('zz-last')
  const { html, picks } = await openConsentPage(grid, grid.ann, { login_hint: '@zz-last', scope: 'agent:use' })
  expect(picks).toHaveLength(50)
  expect(selected(html)).toEqual([`agent:${last.id}`])

  const other = await openConsentPage(grid, grid.ann, { login_hint: 'ann@acme.example', scope: 'agent:use' })
  expect(selected(other.html)).toEqual([])
})

test('the consent page offers an alias unknown to the user as a new agent, even if another account has it', async () => {
  const pages = []
  for (const login_hint of ['@eve', '@nobody-has-it']) {
    const { html } = await openConsentPage(grid, grid.ann, { login_hint, scope: 'agent:use' })
    expect(selected(html)).toEqual([])
    expect(html).toMatch(new RegExp(`<input[^>]* name="alias"[^>]* value="${login_hint.slice(1)}"`))
    const bare = html.replaceAll(login_hint.slice(1), 'HINT').replace(/value="[^"]{20,}"|[\w-]{30,}/g, '')
    pages.push(bare)
  }
  expect(pages[0]).toBe(pages[1])

  // A member cannot create agents, so the page only says that the member has no such agent.
  const member = await signedInPerson(grid, 'member')
  const { html } = await openConsentPage(grid, member, { login_hint: '@eve' })
  expect(html).toContain('but you cannot act as an agent with this alias')
  expect(html).not.toContain('name="alias"')
})

function selected(html: string): string[] {
  return [...html.matchAll(/name="pick" value="([^"]+)"[^>]* checked/g)].map(([, pick]) => pick)
}
