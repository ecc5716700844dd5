import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { createGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { dump, rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool, mcp } from '../../support/mcp.ts'
import { signedInByEmail, signedInMember } from '../../support/people.ts'

const hostile = `<script>alert("x")</script> ' & `
const keyPattern = /grid_agt_[0-9A-Za-z]{49}/

let grid: TestGrid
let ann: Browser
let base: string
beforeEach(async () => {
  grid = await testGrid()
  base = `/accounts/${grid.acme.id}`
  ann = await signedInByEmail(grid, 'ann@acme.example')
})
afterEach(() => grid.close())

const agent = (alias: string) => grid.acme.store.read.agents.byAlias(alias)
const works = async (key: string) => (await mcp(grid, key, 'tools/list')).status === 200
const newest = async () => (await grid.acme.store.read.activity.list({ limit: 1 }))[0]

describe('an agent', () => {
  const form = { visibility: 'private', accessPolicy: 'auto_approve', accessList: '', description: '' }

  test('shows its unread count and its key, and escapes hostile text', async () => {
    await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hi' })
    await grid.acme.agent('mallory', { description: hostile, skills: [{ name: hostile }] })

    const bob = await ann.open(`${base}/agents/bob`)
    const mallory = await ann.open(`${base}/agents/mallory`)

    expect(bob.text).toContain('1 unread')
    expect(bob.text).toContain(`…${grid.bob.key.slice(-4)}`)
    expect(mallory.text).toContain(hostile.trim())
    expect(mallory.html).not.toContain('<script>alert')
  })

  test('shows where it signed up from and how much of its trial is used', async () => {
    const response = await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@new.example', alias: 'zoe-one' })
    const { api_key } = await response.json()
    const { id } = (await grid.store.global.accounts.byJoinEmail('zoe@new.example'))!
    const user = await grid.store.global.users.byEmail('ann@acme.example')
    await grid.store.write([grid.store.global.users.addMembership(id, user!.id, 'owner', 0)])

    const { text } = await ann.open(`/accounts/${id}/agents/zoe-one`)

    expect(text).toContain('Signed up from 203.0.113.7')
    expect(text).toContain('zoe@new.example')
    expect(text).toContain('0 of 10 messages used')
    expect(text).not.toContain(api_key)
  })

  test('can be changed: visibility, access policy and description', async () => {
    await grid.evil.agent('mallory')
    const page = await ann.submit(`${base}/agents/bob/settings`, {
      visibility: 'public',
      accessPolicy: 'allow_list',
      accessList: '@eve\r\n mallory',
      description: 'Answers',
    })

    expect(page.text).toContain('Saved.')
    expect(await agent('bob')).toMatchObject({
      visibility: 'public',
      accessPolicy: 'allow_list',
      description: 'Answers',
    })
    expect(await grid.acme.store.read.agentSettings.accessList(grid.bob.id)).toEqual(['eve', 'mallory'])
    expect(await newest()).toMatchObject({ tool: 'update_agent', outcome: 'ok', userEmail: 'ann@acme.example' })
    const found = await callTool(grid, grid.eve.key, 'list_agents', { public: true })
    expect(JSON.stringify(found)).toContain('@bob')
  })

  test('can be set to reply over A2A as a message; other changes leave that as it is', async () => {
    const isSet = async () => (await grid.acme.store.read.agentSettings.byId(grid.bob.id)).messageReplies
    expect(await isSet()).toBe(false)

    await ann.submit(`${base}/agents/bob/settings`, { ...form, messageReplies: 'yes' })
    expect(await isSet()).toBe(true)
    await updateAgent(grid.acme.store, { agent: 'bob', description: 'Answers' })
    expect(await isSet()).toBe(true)
    await ann.submit(`${base}/agents/bob/settings`, { ...form, messageReplies: 'no' })
    expect(await isSet()).toBe(false)
  })

  test('loses its access list when the policy becomes auto_approve', async () => {
    await grid.acme.agent('desk', { visibility: 'public', accessPolicy: 'block_list', accessList: ['eve'] })
    const desk = (await agent('desk'))!

    await ann.submit(`${base}/agents/desk/settings`, { ...form, accessList: 'eve' })

    expect(await grid.acme.store.read.agentSettings.accessList(desk.id)).toEqual([])
  })

  test('keeps, replaces and removes its remote token', async () => {
    const remoteUrl = 'https://partner.example/a2a'
    await grid.acme.agent('partner', { type: 'a2a', remoteUrl, remoteToken: 'one' })
    const stored = async () =>
      (await rows(grid, 'SELECT encrypted_token, token_iv FROM agents WHERE account_id = ? AND alias = ?', [
        grid.acme.id,
        'partner',
      ]))[0]
    const first = await stored()

    const samePlace = 'https://partner.example/a2a/v2'
    await ann.submit(`${base}/agents/partner/settings`, { ...form, remoteUrl: samePlace, remoteToken: '' })
    expect(await stored()).toEqual(first)
    expect((await agent('partner'))!.remoteUrl).toBe(samePlace)

    const other = 'https://other.example/a2a'
    const refused = await ann.submit(`${base}/agents/partner/settings`, { ...form, remoteUrl: other, remoteToken: '' })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('The server address has changed: enter the token for the new server.')
    expect(await stored()).toEqual(first)
    expect((await agent('partner'))!.remoteUrl).toBe(samePlace)

    await ann.submit(`${base}/agents/partner/settings`, { ...form, remoteUrl: other, remoteToken: 'two' })
    expect((await stored()).token_iv).not.toBe(first.token_iv)
    expect((await newest()).arguments).not.toContain('two')

    await ann.submit(`${base}/agents/partner/settings`, { ...form, remoteUrl, forgetToken: 'on' })
    expect((await stored()).encrypted_token).toBeNull()
    await ann.submit(`${base}/agents/partner/settings`, { ...form, remoteUrl: other, remoteToken: '' })
    expect((await agent('partner'))!.remoteUrl).toBe(other)
  })

  test.each([
    ['remoteUrl', { remoteUrl: 'https://x.example' }],
    ['accessList', { accessPolicy: 'allow_list', accessList: 'not an alias!' }],
  ])('is not changed by an invalid %s', async (field, fields) => {
    const before = await dump(grid, grid.acme, ['activity'])

    const page = await ann.submit(`${base}/agents/bob/settings`, { ...form, description: 'typed', ...fields })

    expect(page.status).toBe(400)
    if (field === 'accessList') expect(page.html).toContain('id="accessList-error"')
    expect(page.text).toContain('typed')
    expect(await dump(grid, grid.acme, ['activity'])).toBe(before)
    expect(await newest()).toMatchObject({ tool: 'update_agent', outcome: 'invalid_input' })
  })

  test('gets a new key, and the old one stops working', async () => {
    const page = await ann.submit(`${base}/agents/bob/connect`, {}, `${base}/agents/bob/key`)

    const key = page.html.match(keyPattern)![0]
    expect(page.status).toBe(200)
    expect(await works(key)).toBe(true)
    expect(await works(grid.bob.key)).toBe(false)
    expect(await works(grid.alice.key)).toBe(true)
    const row = await newest()
    expect(row).toMatchObject({ tool: 'reissue_agent_key', outcome: 'ok' })
    expect(row.arguments).not.toContain(key)
    expect((await ann.open(`${base}/agents/bob/connect`)).html).not.toContain(key)
  })

  test('has keys with names, of which each can be revoked alone', async () => {
    const connect = `${base}/agents/bob/connect`
    const shown = await ann.submit(connect, { name: 'codex at home' }, `${base}/agents/bob/keys`)
    const key = shown.html.match(keyPattern)![0]
    expect(shown.text).toContain('The other keys still work.')
    expect([await works(key), await works(grid.bob.key)]).toEqual([true, true])
    expect((await ann.open(connect)).text).toContain('codex at home')

    const [{ id }] = await grid.acme.store.read.keys.ofAgent(grid.bob.id, grid.clock.now)
    const after = await ann.submit(connect, {}, `${base}/agents/bob/keys/${id}/revoke`)
    expect(after.text).toContain('The key has been revoked and no longer works.')
    expect(after.text).not.toContain('codex at home')
    expect([await works(key), await works(grid.bob.key)]).toEqual([false, true])
    expect(await newest()).toMatchObject({ tool: 'revoke_agent_key', outcome: 'ok' })

    const refused = await ann.submit(connect, { name: ' ' }, `${base}/agents/bob/keys`)
    expect([refused.status, refused.html.includes('id="name-error"')]).toEqual([400, true])
  })

  test('gets skills and guardrails', async () => {
    const { id } = await createGuardrail(grid.acme.store, { name: 'no secrets', provider: 'pii' })
    const other = await createGuardrail(grid.acme.store, { name: 'unused', provider: 'pii' })

    await ann.submit(`${base}/agents/bob/settings`, { skills: 'chess\r\ngo' }, `${base}/agents/bob/skills`)
    const page = await ann.submit(`${base}/agents/bob/settings`, {
      [`direction-${id}`]: 'inbound',
      [`action-${id}`]: 'redact',
      [`direction-${other.id}`]: '',
      [`action-${other.id}`]: 'block',
    }, `${base}/agents/bob/guardrails`)

    const { skills, guardrails } = grid.acme.store.read
    expect((await skills.ofAgent(grid.bob.id)).map(({ name }) => name)).toEqual(['chess', 'go'])
    expect(await guardrails.ofAgent(grid.bob.id)).toEqual([{ guardrailId: id, direction: 'inbound', action: 'redact' }])
    expect(page.html).toContain('<option value="inbound" selected="">')
    const tools = (await grid.acme.store.read.activity.list({ limit: 2 })).map(({ tool }) => tool)
    expect(tools).toEqual(['admin_set_agent_guardrails', 'admin_set_agent_skills'])
  })

  test('is deleted, and its page is gone', async () => {
    const page = await ann.submit(`${base}/agents/bob/settings`, {}, `${base}/agents/bob/delete`)

    expect(page.at).toBe(`${base}/agents?done=deleted`)
    expect(page.text).toContain('Deleted.')
    expect(page.text).not.toContain('@bob')
    expect(await works(grid.bob.key)).toBe(false)
    expect((await ann.open(`${base}/agents/bob`)).status).toBe(404)
  })
})

describe('permissions', () => {
  const actions = ['/settings', '/skills', '/guardrails', '/key', '/delete'].map((action) => `/agents/bob${action}`)

  test.each(['member', 'viewer'] as const)('a %s can view the agent and change nothing', async (role) => {
    const person = await signedInMember(grid, grid.acme, role)
    const page = await person.open(`${base}/agents/bob/settings`)
    const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
    const before = await dump(grid, grid.acme, ['activity'])

    expect(page.text).toContain('You can view this agent')
    for (const tab of ['', '/connect', '/settings']) {
      expect((await person.open(`${base}/agents/bob${tab}`)).html).not.toContain(`action="${base}/agents/bob`)
    }
    expect((await person.open(`${base}/agents`)).text).not.toContain('New agent')
    expect((await person.open(`${base}/new-agent`)).status).toBe(403)
    const forged = [...actions, '/new-agent'].map((path) => person.post(`${base}${path}`, { csrf, alias: 'carol' }))
    expect((await Promise.all(forged)).map(({ status }) => status)).toEqual(Array(6).fill(403))

    expect(await dump(grid, grid.acme, ['activity'])).toBe(before)
    const outcomes = (await grid.acme.store.read.activity.list()).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(Array(6).fill('not_allowed'))
  })

  test('an admin may create an agent; without a session the user is sent to sign in', async () => {
    const admin = await signedInMember(grid, grid.acme, 'admin')

    expect((await admin.submit(`${base}/new-agent`, { alias: 'carol' })).text).toContain('@carol is ready')
    expect((await browser(grid).open(`${base}/agents/bob`)).at).toMatch(/^\/sign-in/)
  })

  test('an agent of another account is not found by any action', async () => {
    const before = await dump(grid, grid.evil)
    const csrf = (await ann.open(`${base}/agents/bob`)).html.match(/name="csrf" value="([^"]+)"/)![1]

    expect((await ann.open(`${base}/agents/eve`)).status).toBe(404)
    for (const action of actions) {
      for (const ref of ['eve', grid.eve.id]) {
        expect((await ann.post(base + action.replace('bob', ref), { csrf })).status).toBe(404)
      }
    }
    for (const path of ['/agents', '/agents/eve', '/new-agent', '/activity']) {
      expect((await ann.open(`/accounts/${grid.evil.id}${path}`)).status).toBe(404)
    }
    expect(await dump(grid, grid.evil)).toBe(before)
  })

  test('a guardrail of another account cannot be attached', async () => {
    const { id } = await createGuardrail(grid.evil.store, { name: 'theirs', provider: 'pii' })

    const page = await ann.submit(`${base}/agents/bob/settings`, {}, `${base}/agents/bob/skills`)
    const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
    const response = await ann.post(`${base}/agents/bob/guardrails`, { csrf, [`direction-${id}`]: 'both' })

    expect(response.status).toBe(404)
    expect(await grid.acme.store.read.guardrails.ofAgent(grid.bob.id)).toEqual([])
  })
})
