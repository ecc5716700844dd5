import { beforeEach, describe, expect, test } from 'vitest'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { createGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { type Browser } from '../../support/browse.ts'
import { dump, rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool, mcp } from '../../support/mcp.ts'
import { signedInByEmail } from '../../support/people.ts'

const keyPattern = /grid_agt_[0-9A-Za-z]{49}/

let grid: TestGrid
let ann: Browser
let base: string
beforeEach(async () => {
  grid = await testGrid()
  base = `/accounts/${grid.acme.id}`
  ann = await signedInByEmail(grid, 'ann@acme.example')
})

const agent = (alias: string) => grid.acme.store.read.agents.byAlias(alias)
const works = async (key: string) => (await mcp(grid, key, 'tools/list')).status === 200
const newest = async () => (await grid.acme.store.read.activity.list({ limit: 1 }))[0]

describe('an agent on its page', () => {
  const form = { visibility: 'private', accessPolicy: 'auto_approve', accessList: '', description: '' }

  test('a user must confirm the consequences once before an agent becomes public', async () => {
    const action = `${base}/agents/alice/settings`
    const asked = await ann.submit(action, { ...form, visibility: 'public' })
    expect(asked.text).toContain('Agents of every account on this grid can then find it')
    expect(await agent('alice')).toMatchObject({ visibility: 'private' })

    await ann.submit(action, { ...form, visibility: 'public', publicSure: 'on' })
    const again = await ann.submit(action, { ...form, visibility: 'public', description: 'Answers' })

    expect(again.text).toContain('Saved.')
    expect(again.html).not.toContain('publicSure')
    expect(await agent('alice')).toMatchObject({ visibility: 'public', description: 'Answers' })
  })

  test("an agent's visibility, access policy and description can be changed", async () => {
    await grid.evil.agent('mallory')
    const page = await ann.submit(`${base}/agents/bob/settings`, {
      visibility: 'public',
      publicSure: 'on',
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
    expect(await grid.acme.store.read.agentSettings.accessList(grid.bob.id)).toEqual([
      { alias: 'eve', pending: false },
      { alias: 'mallory', pending: false },
    ])
    expect(await newest()).toMatchObject({ tool: 'update_agent', outcome: 'ok', userEmail: 'ann@acme.example' })
    const found = await callTool(grid, grid.eve.key, 'list_agents', { public: true })
    expect(JSON.stringify(found)).toContain('@bob')
  })

  test('an agent can be set to answer with messages over A2A, and other changes keep this setting', async () => {
    const isSet = async () => (await grid.acme.store.read.agentSettings.byId(grid.bob.id)).messageReplies
    expect(await isSet()).toBe(false)

    await ann.submit(`${base}/agents/bob/settings`, { ...form, messageReplies: 'yes' })
    expect(await isSet()).toBe(true)
    await updateAgent(grid.acme.store, { agent: 'bob', description: 'Answers' })
    expect(await isSet()).toBe(true)
    await ann.submit(`${base}/agents/bob/settings`, { ...form, messageReplies: 'no' })
    expect(await isSet()).toBe(false)
  })

  test('an agent can be set to let A2A calls wait, and other changes keep this setting', async () => {
    const isSet = async () => (await grid.acme.store.read.agentSettings.byId(grid.bob.id)).callersWait
    expect(await isSet()).toBe('auto')

    const page = await ann.submit(`${base}/agents/bob/settings`, { ...form, callersWait: 'yes' })
    expect(await isSet()).toBe('yes')
    expect(page.html).toMatch(/name="callersWait" value="yes" checked/)
    await updateAgent(grid.acme.store, { agent: 'bob', description: 'Answers' })
    expect(await isSet()).toBe('yes')
    await ann.submit(`${base}/agents/bob/settings`, { ...form, callersWait: 'auto' })
    expect(await isSet()).toBe('auto')
  })

  test("an agent's remote token can be kept, replaced and removed", async () => {
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
  ])('an agent is not changed by an invalid %s', async (field, fields) => {
    const before = await dump(grid, grid.acme, ['activity'])

    const page = await ann.submit(`${base}/agents/bob/settings`, { ...form, description: 'typed', ...fields })

    expect(page.status).toBe(400)
    if (field === 'accessList') expect(page.html).toContain('id="accessList-error"')
    expect(page.text).toContain('typed')
    expect(await dump(grid, grid.acme, ['activity'])).toBe(before)
    expect(await newest()).toMatchObject({ tool: 'update_agent', outcome: 'invalid_input' })
  })

  test('an agent gets a new key, and the old key stops working', async () => {
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

  test('an agent has named keys that can be revoked one by one', async () => {
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

  test('an agent gets skills and guardrails', async () => {
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
})

test('an agent cannot get a guardrail of another account', async () => {
  const { id } = await createGuardrail(grid.evil.store, { name: 'theirs', provider: 'pii' })

  const page = await ann.submit(`${base}/agents/bob/settings`, {}, `${base}/agents/bob/skills`)
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
  const response = await ann.post(`${base}/agents/bob/guardrails`, { csrf, [`direction-${id}`]: 'both' })

  expect(response.status).toBe(404)
  expect(await grid.acme.store.read.guardrails.ofAgent(grid.bob.id)).toEqual([])
})
