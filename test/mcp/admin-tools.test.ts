import { beforeEach, expect, test } from 'vitest'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { providers } from '../../src/guardrails/providers.ts'
import { rows } from '../support/database.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

const now = '2026-11-21T09:00:00.000Z'
const anId = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)

let grid: LiveGrid
beforeEach(async () => {
  grid = await liveGrid()
})

test("admin_create_agent accepts every field and returns an agent with eight fields, and the agent's key works immediately", async () => {
  const input = {
    alias: 'remote-desk',
    type: 'a2a',
    visibility: 'public',
    accessPolicy: 'block_list',
    description: 'Answers for Acme',
    remoteUrl: 'https://remote.example/a2a',
    remoteToken: 'canary-of-the-remote-agent',
    skills: ['faq', { name: 'tax', description: 'Of companies' }],
  }
  const created = await admin('admin_create_agent', input)
  const { api_key: key, agent_id: id } = created.text
  const sent = await callTool(grid, key, 'send_message', { to: '@alice', message: 'hello from the desk' })
  const skills = await callTool(grid, grid.alice.key, 'list_skills', { agent: 'remote-desk' })
  const { agents } = (await admin('admin_list_agents')).text

  const { remoteToken: _, skills: __, ...shown } = input
  expect(created.text).toEqual({
    agent: { ...shown, id, alias: '@remote-desk', createdAt: now },
    agent_id: anId,
    problem: expect.stringContaining('No card was found'),
    note: expect.stringContaining('Agents of other accounts use the remoteToken too.'),
    api_key: expect.stringMatching(/^grid_agt_[0-9A-Za-z]{49}$/),
  })
  expect(agents).toContainEqual(created.text.agent)
  expect(sent.text.recipient).toBe('@alice')
  expect(skills.text).toEqual([{ name: 'faq', description: '' }, { name: 'tax', description: 'Of companies' }])
})

test("admin_list_agents lists the account's agents by alias, with defaults", async () => {
  const { agents, total } = (await adminOf(grid.evil, 'admin_list_agents')).text

  expect({ agents, total }).toEqual({
    agents: [{
      id: grid.eve.id,
      alias: '@eve',
      type: 'mcp',
      visibility: 'private',
      accessPolicy: 'auto_approve',
      description: '',
      remoteUrl: null,
      createdAt: now,
    }],
    total: 1,
  })
})

test('the channel tools create a channel with members, list its seven fields, replace its members and delete it', async () => {
  const members = ['alice', '@Bob', grid.bob.id]
  const created = await admin('admin_create_channel', { name: '#general', description: 'All of us', members })
  const { channel, channel_id: id } = created.text
  const { channels, total } = (await admin('admin_list_channels')).text
  const set = await admin('admin_set_channel_members', { id, members: [grid.bob.id] })
  const ofBob = await callTool(grid, grid.bob.key, 'list_channels')
  const deleted = await admin('admin_delete_channel', { name: 'general' })
  const after = (await admin('admin_list_channels')).text

  expect(created.text).toEqual({
    channel: {
      id,
      name: '#general',
      description: 'All of us',
      memberCount: 2,
      externalIntegrationType: null,
      externalChannelName: null,
      createdAt: now,
    },
    channel_id: anId,
  })
  expect({ channels, total }).toEqual({ channels: [channel], total: 1 })
  expect(set.text).toEqual({ channel: { ...channel, memberCount: 1 }, members: ['@bob'] })
  expect(ofBob.text).toEqual([{ name: '#general', description: 'All of us', members: ['@bob'] }])
  expect(deleted.text).toEqual({ deleted: true, id })
  expect(after).toEqual({ channels: [], total: 0 })
})

test('admin_set_agent_skills replaces all skills, creates unknown ones and counts them, and the same call again changes nothing', async () => {
  await adminOf(grid.evil, 'admin_set_agent_skills', { alias: 'eve', skills: ['old', 'kept'] })
  const input = { id: grid.eve.id, skills: ['kept', { name: 'new', description: 'Just made' }, 'kept'] }
  const set = await adminOf(grid.evil, 'admin_set_agent_skills', input)
  const listed = await adminOf(grid.evil, 'admin_list_skills')
  const again = await adminOf(grid.evil, 'admin_set_agent_skills', input)

  expect(set.text).toEqual({ agent: expect.objectContaining({ alias: '@eve' }), skills: ['kept', 'new'] })
  expect(listed.text).toEqual({
    skills: [
      { id: anId, name: 'kept', description: '', agentCount: 1 },
      { id: anId, name: 'new', description: 'Just made', agentCount: 1 },
      { id: anId, name: 'old', description: '', agentCount: 0 },
    ],
    total: 3,
  })
  expect(again.text).toEqual(set.text)
  expect((await adminOf(grid.evil, 'admin_list_skills')).text).toEqual(listed.text)
})

test("the guardrail tools list guardrails without tokens, and replace an agent's guardrails with directions and actions", async () => {
  const config = { maxCharacters: 500 }
  const short = await createGuardrail(grid.evil.store, { name: 'short', provider: 'length', config, action: 'flag' })
  const judge = await createGuardrail(grid.evil.store, {
    name: 'judge',
    provider: 'openai-moderation',
    token: 'canary-of-the-judge',
  })
  const guardrails = [{ id: short.id, direction: 'inbound', action: 'block' }, 'judge']
  const set = await adminOf(grid.evil, 'admin_set_agent_guardrails', { alias: '@eve', guardrails })
  const less = await adminOf(grid.evil, 'admin_set_agent_guardrails', {
    id: grid.eve.id,
    guardrails: [{ name: 'short' }],
  })
  const listed = await adminOf(grid.evil, 'admin_list_guardrails')

  expect(set.text.guardrails).toEqual([
    { id: short.id, name: 'short', provider: 'length', direction: 'inbound', action: 'block' },
    { id: judge.id, name: 'judge', provider: 'openai-moderation', direction: 'both', action: 'block' },
  ])
  expect(less.text.guardrails).toEqual([
    { id: short.id, name: 'short', provider: 'length', direction: 'both', action: 'flag' },
  ])
  // The URL is in the configuration, not in `host`.
  const common = { enabled: true, createdAt: now, host: undefined }
  const model = { baseUrl: 'https://api.openai.com', model: 'omni-moderation-latest' }
  expect(listed.text).toEqual({
    guardrails: [
      {
        ...judge,
        ...common,
        config: model,
        action: 'block',
        onFailure: 'closed',
        agentCount: 0,
      },
      { ...short, ...common, config, action: 'flag', onFailure: 'open', agentCount: 1 },
    ],
    total: 2,
  })
})

test('admin_list_guardrail_providers returns the static list of providers, each with its configuration schema', async () => {
  const listed = (await admin('admin_list_guardrail_providers')).text.providers

  expect(listed.map(({ id }: { id: string }) => id)).toEqual(providers.map(({ id }) => id))
  for (const provider of listed) {
    expect(provider).toEqual({
      id: expect.any(String),
      name: expect.any(String),
      description: expect.any(String),
      kind: expect.stringMatching(/^(local|remote)$/),
      configSchema: expect.objectContaining({ type: 'object' }),
      needsToken: expect.any(Boolean),
    })
  }
})

test('after admin_delete_agent the key is revoked, the alias stays reserved for the account, and messages stay readable', async () => {
  const { api_key: key, agent_id: id } =
    (await admin('admin_create_agent', { alias: 'carol', skills: ['juggling'] })).text
  await admin('admin_create_channel', { name: 'circus', members: ['carol', 'bob'] })
  await callTool(grid, key, 'send_message', { to: 'bob', message: 'remember me' })
  const deleted = await admin('admin_delete_agent', { alias: '@carol' })

  const refused = await mcp(grid, key, 'tools/list')
  const read = await callTool(grid, grid.bob.key, 'read_messages')
  const write = await callTool(grid, grid.bob.key, 'send_message', { to: 'carol', message: 'still there?' })
  const elsewhere = await adminOf(grid.evil, 'admin_create_agent', { alias: 'carol' })
  const [agents, channels, skills] = await Promise.all(
    ['admin_list_agents', 'admin_list_channels', 'admin_list_skills'].map(async (name) => (await admin(name)).text),
  )
  const anew = (await admin('admin_create_agent', { alias: 'carol' })).text

  const keys = await rows(grid, 'SELECT revoked_at FROM credentials WHERE account_id = ? AND agent_id = ?', [
    grid.acme.id,
    id,
  ])

  expect(deleted.text).toEqual({ deleted: true, id })
  expect(refused.status).toBe(401)
  expect(keys).toEqual([{ revoked_at: grid.clock.now }])
  expect(read.text).toMatchObject([{ user: '@carol', message: 'remember me' }])
  expect(write.code).toBe('recipient_not_found')
  expect(elsewhere.code).toBe('alias_taken')
  expect(JSON.stringify(agents)).not.toContain('carol')
  expect(channels.channels).toMatchObject([{ name: '#circus', memberCount: 1 }])
  expect(skills.skills).toContainEqual(expect.objectContaining({ name: 'juggling', agentCount: 0 }))
  expect(anew.agent_id).not.toBe(id)
  expect((await callTool(grid, anew.api_key, 'list_channels')).text).toEqual([])
})

test('createdAt is the same when an agent is created and when it is listed', async () => {
  let now = grid.clock.now
  Object.defineProperty(grid.clock, 'now', { get: () => now += 7 })

  const { agent } = (await admin('admin_create_agent', { alias: 'carol' })).text
  const { channel } = (await admin('admin_create_channel', { name: 'general' })).text

  expect((await admin('admin_list_agents')).text.agents).toContainEqual(agent)
  expect((await admin('admin_list_channels')).text.channels).toContainEqual(channel)
})

function admin(name: string, args: Record<string, unknown> = {}) {
  return adminOf(grid.acme, name, args)
}

function adminOf({ adminKey }: { adminKey: string }, name: string, args: Record<string, unknown> = {}) {
  return callTool(grid, adminKey, name, args)
}
