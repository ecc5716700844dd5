/** Uses every programming interface of a grid that is known only by its URL. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { httpRequest } from '../../src/cli/http-request.ts'
import { GridClient } from '../../src/clients/grid-client.ts'
import { keyIn, verifyCard } from '../support/card-signatures.ts'
import { officialClients } from './a2a-clients.ts'
import type { Era } from '../support/mcp.ts'
import { a2a, callTool, get, mcp, post } from './client.ts'

interface Agent {
  /** The alias, with the `@`. */
  alias: string
  key: string
}

const text = 'Grüße, 你好, 🙂\nzweite Zeile "with quotes"'

export async function scenario(base: string, adminKey: string): Promise<void> {
  await isHealthy(base)
  await compressesAssets(base)
  const ada = await signUp(base, 'ada')
  const ben = await signUp(base, 'ben')

  await refusesUnknownKeys(base)
  await talksMcp(base, ada, ben, 'legacy')
  await talksMcp(base, ben, ada, 'modern')

  await worksOverRest(base)
  await takesOAuthClients(base)

  await hasACard(base)
  await talksA2a(base, ada, ben)
  // These agents are not on trial, because agents on trial cannot receive push notifications.
  await officialClients(base, async (name) => {
    const alias = `${name}-${randomUUID().slice(0, 8)}`
    const { api_key: key } = await callTool(base, adminKey, 'admin_create_agent', { alias })
    return { alias: `@${alias}`, key }
  })
}

async function isHealthy(base: string): Promise<void> {
  expect((await get(base, '/healthz')).status).toBe(200)
  expect((await get(base, '/readyz')).body).toMatchObject({ status: 'ready' })
  expect((await get(base, '/nowhere')).body).toMatchObject({ error: { code: 'not_found' } })
  expect((await httpRequest(`${base}/llms.txt`, { headers: { Host: 'evil.example' } })).status).toBe(421)
}

async function worksOverRest(base: string): Promise<void> {
  const [asker, worker] = [await signUp(base, 'asker'), await signUp(base, 'runner')]
  const [asAsker, asWorker] = [asker, worker].map(({ key }) => new GridClient({ url: base, key }))
  await asAsker.send({ to: worker.alias, message: text }, 'question')
  const { lease_id, messages: [question] } = await asWorker.lease({ seconds: 60 })
  expect(question).toMatchObject({ message: text, user: asker.alias })
  expect(await asWorker.lease()).toMatchObject({ lease_id: null, remaining: 0 })

  const answer = { to: asker.alias, message: 'done', acks: { lease_id: lease_id! } }
  const sent = await asWorker.send(answer, 'answer')
  expect((await asWorker.send(answer, 'answer')).message_id).toBe(sent.message_id)
  await expect(asWorker.ack(lease_id!)).rejects.toMatchObject({ code: 'stale_lease', status: 409 })
  expect(await asAsker.peek()).toMatchObject({ unread: 1, messages: [{ user: worker.alias }] })
  expect((await get(base, '/api/v1/openapi.json')).body.openapi).toMatch(/^3\.1/)
}

/** Compares compressed responses, which `fetch` decompresses, with uncompressed ones. */
async function compressesAssets(base: string): Promise<void> {
  const open = async (path: string, coding: string) => {
    const response = await fetch(base + path, { headers: { 'Accept-Encoding': coding } })
    return { coding: response.headers.get('content-encoding'), text: await response.text() }
  }
  const [path] = (await open('/', 'identity')).text.match(/\/assets\/app\.\w+\.css/)!

  for (const at of ['/', path]) {
    const plain = await open(at, 'identity')
    expect(plain.coding).toBeNull()
    for (const coding of ['br', 'gzip']) expect(await open(at, coding)).toEqual({ coding, text: plain.text })
  }
}

/** Signs up an agent, with the same owner each time: trial agents of different accounts cannot write to each other. */
async function signUp(base: string, name: string): Promise<Agent> {
  const alias = `${name}-${randomUUID().slice(0, 8)}`
  const { status, body } = await post(base, '/api/v1/agentic-signup', {
    owner_email: 'owner@scenario.example',
    alias,
    skills: ['talking'],
  })
  expect(status).toBe(201)
  expect(body).toMatchObject({ alias: `@${alias}`, trial: { max_messages: 10, expires_in: '24 hours' } })
  expect(body.mcp_config.mcpServers['agent-grid'].headers.Authorization).toBe(`Bearer ${body.api_key}`)
  return { alias: body.alias, key: body.api_key }
}

async function refusesUnknownKeys(base: string): Promise<void> {
  const message = { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
  const unknown = `grid_agt_${'a'.repeat(49)}`
  for (const key of [undefined, unknown, 'nonsense']) {
    const overMcp = await mcp(base, key, 'tools/list')
    const overA2a = await a2a(base, key, 'message/send', message)

    expect([overMcp.status, overA2a.status]).toEqual([401, 401])
    expect(overMcp.headers.get('WWW-Authenticate')).toContain('resource_metadata="http')
    expect(overA2a.headers.get('WWW-Authenticate')).toContain('Bearer realm=')
  }
}

async function talksMcp(base: string, from: Agent, to: Agent, era: Era): Promise<void> {
  const { body } = await mcp(base, from.key, 'tools/list', {}, era)
  const names = body.result.tools.map((tool: { name: string }) => tool.name)
  expect(names).toEqual(expect.arrayContaining(['send_message', 'read_messages', 'list_agents']))
  expect(names.filter((name: string) => name.startsWith('admin_'))).toEqual([])

  const sent = await callTool(base, from.key, 'send_message', { to: to.alias, message: text }, era)
  const read = await callTool(base, to.key, 'read_messages', {}, era)
  const again = await callTool(base, to.key, 'read_messages', {}, era)
  const status = await callTool(base, from.key, 'message_status', { message_id: sent.message_id }, era)

  expect(sent).toMatchObject({ recipient: to.alias, unread: 0 })
  expect(read.messages).toMatchObject([
    { message_id: sent.message_id, channel: 'direct', user: from.alias, type: 'agent', message: text },
  ])
  expect(again.messages).toEqual([])
  expect(status).toMatchObject({ delivery: 'read', read_by: [{ alias: to.alias }] })
}

async function takesOAuthClients(base: string): Promise<void> {
  const redirect_uri = 'http://127.0.0.1:51234/callback'
  const metadata = await get(base, '/.well-known/oauth-authorization-server')
  const client = await post(base, '/oauth/register', { client_name: 'Scenario', redirect_uris: [redirect_uri] })
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.body.client_id,
    redirect_uri,
    code_challenge: 'c'.repeat(43),
    code_challenge_method: 'S256',
  })
  const authorize = (query: string) => fetch(`${base}/oauth/authorize?${query}`, { redirect: 'manual' })

  expect(metadata.body).toMatchObject({ code_challenge_methods_supported: ['S256'] })
  expect([client.status, client.body.redirect_uris]).toEqual([201, [redirect_uri]])
  expect((await authorize(`${query}`)).headers.get('Location')).toMatch(/^\/sign-in\?next=/)
  expect((await authorize('client_id=nobody')).status).toBe(400)
}

async function hasACard(base: string): Promise<void> {
  const { status, body } = await get(base, '/.well-known/agent-card.json')

  expect(status).toBe(200)
  expect(new URL(body.url).pathname).toBe('/a2a/v1/grid')
  const keys = (await get(base, '/.well-known/jwks.json')).body
  await verifyCard(body, (kid) => keyIn(keys, kid))
  await verifyCard((await get(base, '/a2a/v1/grid?A2A-Version=1.0')).body, (kid) => keyIn(keys, kid))
}

async function talksA2a(base: string, from: Agent, to: Agent): Promise<void> {
  const metadata = { to: to.alias }
  const v03 = await a2a(base, from.key, 'message/send', {
    kind: 'message',
    messageId: randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text }],
    metadata,
  })
  const v10 = await a2a(base, from.key, 'SendMessage', {
    messageId: randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text }],
    metadata,
  })
  const { messages } = await callTool(base, to.key, 'read_messages')

  expect(v03.body).toMatchObject({ jsonrpc: '2.0', id: 'a-1', result: { kind: 'message', role: 'agent' } })
  expect(v03.body.result.parts[0].text).toContain(to.alias)
  expect(v10.body.result.message).toMatchObject({ role: 'ROLE_AGENT' })
  const expected = { channel: 'direct', user: from.alias, type: 'agent', message: text }
  expect(messages).toMatchObject([
    { ...expected, message_id: v03.body.result.messageId },
    { ...expected, message_id: v10.body.result.message.messageId },
  ])
}
