/** Incoming hooks: which requests they accept, and the resulting messages. See docs/protocol/incoming.md. */
import { createHmac } from 'node:crypto'
import { Webhook as Signer } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createHook, findHook, type HookInput, listHooks, revokeHook } from '../../../src/features/incoming/hooks.ts'
import { textOfPayload } from '../../../src/features/incoming/template.ts'
import { createWebhook } from '../../../src/features/webhooks/webhooks.ts'
import { reissueKey } from '../../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { newWebhookSecret } from '../../../src/lib/outbound/webhook-signature.ts'
import { minute } from '../../../src/lib/time.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { hold } from '../../support/held.ts'
import { callTool } from '../../support/mcp.ts'
import { TestOutboxes } from '../../support/outboxes.ts'
import { signedIn, signedInMember } from '../../support/people.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'
import { startWebhook } from '../../support/webhook.ts'
import { alert, issues, pullRequest, push, workflowRun } from './payloads.ts'

let grid: TestGrid
let closed: (() => Promise<unknown>)[]
beforeEach(async () => {
  closed = []
  const env = { ALLOW_PRIVATE_TARGETS: '1', METRICS_TOKEN: 'a-token-of-metrics-0123456789' }
  grid = await testGrid({ guardrailChecks: testProviders().guardrailChecks, env })
})
afterEach(async () => {
  for (const close of closed) await close()
  await grid.close()
})

async function hook(more: Partial<HookInput> = {}) {
  const { id, address } = await createHook(grid.acme.store, { name: 'builds', to: '@bob', format: 'summary', ...more })
  return { id, address, path: new URL(address).pathname }
}

async function send(path: string, body: string | object, headers: Record<string, string> = {}, from?: string) {
  const type = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json'
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await grid.post(path, text, { 'Content-Type': type, ...headers }, from)
  return { status: response.status, headers: response.headers, body: await response.json() }
}

const read = async (agent = grid.bob) => (await callTool(grid, agent.key, 'read_messages')).text
const outcomes = async (id: string) => (await findHook(grid.acme.store, id)).deliveries.map(({ outcome }) => outcome)

test('a posted text becomes an external, automated message, and its delivery is recorded without the text', async () => {
  const { id, path } = await hook()

  const { status, body } = await send(path, 'build failed\u202e')

  expect({ status, body }).toEqual({ status: 200, body: { message_id: expect.any(String) } })
  expect(await read()).toMatchObject([{ user: '@builds', type: 'agent', via: 'hook', message: 'build failed' }])
  const { deliveries } = await findHook(grid.acme.store, id)
  expect(deliveries).toEqual([{ at: grid.clock.now, outcome: 'sent', message: body.message_id }])
})

test("a channel's hook posts to the channel, and does not receive its posts", async () => {
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  const { id, path } = await hook({ to: '#ops' })

  expect((await send(path, 'deployed')).status).toBe(200)
  await callTool(grid, grid.alice.key, 'send_message', { to: '#ops', message: 'thanks' })

  expect((await read()).map(({ message }: { message: string }) => message)).toEqual(['deployed', 'thanks'])
  const { agentId } = await findHook(grid.acme.store, id)
  expect(await grid.acme.store.read.inbox.allUnread(agentId)).toBe(0)
})

test("nobody can send to a hook's agent or get a key for it", async () => {
  const { path } = await hook()
  await send(path, 'build failed')
  const [{ message_id }] = await read()

  const sent = await callTool(grid, grid.bob.key, 'send_message', {
    to: '@builds',
    message: 'ok',
    reply_to_message_id: message_id,
  })

  expect(sent.message).toMatch(/incoming hook.*nobody reads/)
  await expect(reissueKey(grid.acme.store, 'builds')).rejects.toMatchObject({ code: 'not_allowed' })
})

test('unknown and revoked URLs, and those of deleted accounts, get the same 404 and count as refused keys', async () => {
  const { id, path } = await hook()
  const other = await hook({ name: 'other' })
  await revokeHook(grid.acme.store, id)
  const unknown = await send(`/in/${'a'.repeat(43)}`, 'x')
  const answers = [await send(path, 'x'), await send('/in/short', 'x')]

  expect(answers.map(({ status, body }) => ({ status, body }))).toEqual(
    [unknown, unknown].map(({ status, body }) => ({ status, body })),
  )
  expect(unknown.status).toBe(404)
  expect((await listHooks(grid.acme.store)).map(({ alias }) => alias)).toEqual(['other'])
  let last = 0
  for (let n = 0; n < 130 && last !== 429; n++) last = (await send('/in/short', 'x')).status
  expect(last).toBe(429)
  const key = await grid.request('/api/v1/me', { headers: { Authorization: `Bearer grid_agt_${'0'.repeat(49)}` } })
  expect(key.status).toBe(429)
  expect((await send(other.path, 'still taken')).status).toBe(200)

  await grid.store.write([{ sql: 'UPDATE accounts SET deleted_at = 1 WHERE id = ?', args: [grid.acme.id] }])
  expect((await send(other.path, 'x', {}, '203.0.113.9')).status).toBe(404)
})

test('a hook whose recipient was deleted refuses requests, and its page says so', async () => {
  const { id, path } = await hook()
  await deleteAgent(grid.acme.store, 'bob')

  expect((await send(path, 'x')).body.error.code).toBe('recipient_not_found')
  expect(await findHook(grid.acme.store, id)).toMatchObject({ recipient: null })
  expect(await outcomes(id)).toEqual(['recipient_not_found'])
})

test('a hook accepts 60 requests a minute, and an account 600', async () => {
  const hooks = []
  for (let n = 0; n < 11; n++) hooks.push(await hook({ name: `builds-${n}` }))
  const [first, ...others] = hooks.map(({ path }) => path)
  const statusesOf = (path: string, n: number) =>
    Promise.all(Array.from({ length: n }, async () => (await send(path, '')).status))

  expect(await statusesOf(first, 61)).toEqual([...Array(60).fill(400), 429])
  expect((await send(first, 'x')).headers.get('retry-after')).toBe('1')
  for (const path of others.slice(0, 9)) await statusesOf(path, 60)
  expect((await send(others[9], 'x')).body.error.message).toContain('600 a minute are accepted for all hooks')
  grid.clock.now += minute
  expect((await send(first, 'x')).status).toBe(200)
})

test('a body over 256 KiB and a text over 10,000 characters are refused and recorded', async () => {
  const { id, path } = await hook()

  expect((await send(path, 'x'.repeat(256 * 1024 + 1))).status).toBe(413)
  expect((await send(path, '😀'.repeat(10_001))).body.error.code).toBe('message_too_long')
  expect((await send(path, '😀'.repeat(10_000))).status).toBe(200)
  expect(await outcomes(id)).toEqual(['sent', 'message_too_long', 'payload_too_large'])
})

test('requests with the same delivery id store one message, in whichever header the id is', async () => {
  const { path } = await hook()
  for (const name of ['X-GitHub-Delivery', 'webhook-id', 'Idempotency-Key']) {
    const first = await send(path, { text: `by ${name}`, at: '1' }, { [name]: `id of ${name}` })
    const again = await send(path, { text: `by ${name}`, at: '2' }, { [name]: `id of ${name}` })
    expect(again.body).toEqual(first.body)
  }

  expect(await read()).toHaveLength(3)
})

test.each([
  ['push', push, 'acme/grid: octocat pushed to refs/heads/main\nFix the build\n' + push.compare],
  [
    'pull_request',
    pullRequest,
    'acme/grid: octocat opened pull request #2\nUpdate the README\nhttps://github.com/acme/grid/pull/2',
  ],
  ['issues', issues, 'acme/grid: octocat closed issue #1\nSpelling error\nhttps://github.com/acme/grid/issues/1'],
  ['workflow_run', workflowRun, 'acme/grid: CI on main completed failure\nhttps://github.com/acme/grid/actions/runs/3'],
])('signed GitHub events are accepted as JSON or as a form: %s', async (event, payload, text) => {
  const { path } = await hook({ format: 'github', secret: 'a secret of GitHub' })
  for (const body of [JSON.stringify(payload), `payload=${encodeURIComponent(JSON.stringify(payload))}`]) {
    const signature = `sha256=${createHmac('sha256', 'a secret of GitHub').update(body).digest('hex')}`
    const headers = { 'X-GitHub-Event': event, 'X-Hub-Signature-256': signature }
    const type = body.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded'
    expect((await send(path, body, { ...headers, 'Content-Type': type })).status).toBe(200)
    expect((await send(path, `${body} `, { ...headers, 'Content-Type': type })).status).toBe(401)
  }

  const messages = await read()
  expect(messages.map(({ message }: { message: string }) => message)).toEqual([text, text])
  expect(messages[0].parts).toMatchObject([{ data: payload, mediaType: 'application/json' }])
})

test('a GitHub event without a template is skipped, and an unsigned request is refused', async () => {
  const { id, path } = await hook({ format: 'github' })
  const signed = await hook({ name: 'signed', secret: newWebhookSecret() })

  expect((await send(path, { zen: 'Keep it simple.' }, { 'X-GitHub-Event': 'ping' })).body).toEqual({ ignored: true })
  expect((await send(path, { zen: 'x' }, { 'X-GitHub-Event': 'constructor' })).body).toEqual({ ignored: true })
  expect(await outcomes(id)).toEqual(['ignored', 'ignored'])
  expect((await send(signed.path, 'x')).status).toBe(401)
  expect(await outcomes(signed.id)).toEqual(['unauthenticated'])
  expect(await read()).toEqual([])
})

test('Standard Webhooks signatures are verified, and an old request is refused', async () => {
  const secret = newWebhookSecret()
  const { path } = await hook({ secret })
  const signed = (body: string, at: number) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at / 1_000),
    'webhook-signature': `v1,old ${new Signer(secret).sign('msg_1', new Date(at), body)}`,
  })

  expect((await send(path, 'paid', signed('paid', grid.clock.now))).status).toBe(200)
  expect((await send(path, 'paid twice', signed('paid', grid.clock.now))).status).toBe(401)
  expect((await send(path, 'paid', signed('paid', grid.clock.now - 6 * minute))).status).toBe(401)
})

test("an Alertmanager alert becomes one text, with a private server's URL as plain text", async () => {
  const { path } = await hook({ format: 'alertmanager' })

  await send(path, alert)

  expect((await read())[0].message).toBe(
    'firing: InstanceDown page db:9100\ndb is down\nIt was not reached for 5 minutes.\nprometheus:9090/graph?g0.expr=up',
  )
})

test('a template reads only own properties, mentions nobody, and produces only https links', () => {
  const filled = (template: string, payload: unknown) => textOfPayload({ format: 'template', template }, payload, null)

  expect(filled('{{a.b}} {{a.c.0}} {{ n }}{{t}}{{none}}.', { a: { b: 'x', c: ['y'] }, n: 0, t: true })).toBe(
    'x y 0true.',
  )
  expect(filled('<{{constructor.name}}{{a.length}}{{toString}}{{__proto__.x}}>', { a: 'b' })).toBe('<>')
  expect(filled('<{{inherited}}>', Object.create({ inherited: 'x' }))).toBe('<>')
  expect(filled('{{a}}', { a: '{{b}}', b: 'twice' })).toBe('{{b}}')
  expect(filled('{{a}}', { a: '@bob and x@bob.example, @ bob, @@bob @://bob' })).toBe(
    'bob and x@bob.example, @ bob, bob bob',
  )
  expect(filled('{{a}}', { a: '[x](javascript:alert) [y](  https://a.example) [z](//b.example) http://c.example' }))
    .toBe('[x] (javascript:alert) [y](  https://a.example) [z] (//b.example) c.example')
  expect(filled('{{a}}', { a: '[x]http://(//y)' })).toBe('[x] (//y)')
  expect(filled('{{a}}', { a: `hthttp://tp://x ${'a'.repeat(50)}http://y` })).not.toContain('http://')
  expect(filled('{{a}}', { a: 'red\u001b[31m\u202e\u0000' })).toBe('red[31m')
  expect(filled('{{a}}{{a}}', { a: 'x'.repeat(9_000) })).toHaveLength(10_000)
  expect(filled('{{none}}', { state: 'ok', n: 1 })).toBe('state: ok')
})

test('no payload makes a template slow', () => {
  const since = performance.now()

  for (const char of [' ', '\n', '\t', '@', ':', '/', '(', '[', ']', 'a', '{']) {
    textOfPayload({ format: 'template', template: `${'{{a}}'.repeat(390)}x` }, { a: char.repeat(10_000) }, null)
  }
  // With quadratic time, the blanks alone would take half a minute.
  expect(performance.now() - since).toBeLessThan(2_000)
})

test('a JSON body is summarised without a template, even if curl sends it as a form', async () => {
  const { path } = await hook()

  await send(path, { status: 'failed', n: 3, by: '@bob' })
  await send(path, '{"status":"fixed"}')
  await send(path, '{not JSON')

  expect((await read()).map(({ message, parts }: { message: string; parts?: unknown[] }) => [message, parts?.length]))
    .toEqual([['status: failed\nby: bob', 1], ['status: fixed', 1], ['{not JSON', undefined]])
  expect((await send(path, '{not JSON', { 'Content-Type': 'application/json' })).body.error.code).toBe('malformed_json')
})

test('guardrails and approval rules apply to hook messages', async () => {
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'block' })
  const { id, path } = await hook()

  expect((await send(path, `the ${secret}`)).body.error.code).toBe('guardrail_blocked')
  await hold(grid.acme.store)
  expect((await send(path, 'a quiet word')).status).toBe(200)

  expect(await read()).toEqual([])
  expect(await rows(grid, 'SELECT 1 FROM held_messages WHERE account_id = ?', [grid.acme.id])).toHaveLength(1)
  expect(await outcomes(id)).toEqual(['held', 'guardrail_blocked'])
})

test('a hook adds one to the hops that a request states, and refuses too many', async () => {
  const { id, path } = await hook()
  const { hook: taken, close } = await startWebhook(() => 204).then((hook) => ({ hook, close: () => hook.close() }))
  closed.push(close)
  await createWebhook(grid.acme.store, { url: taken.url, events: ['message'] })
  const outboxes = new TestOutboxes(grid.store)
  closed.push(() => outboxes.stop())

  await send(path, 'round', { 'agent-grid-hops': '4' })
  await followLog(grid.store)
  await outboxes.run()
  await outboxes.settled()

  expect(taken.taken[0].headers['agent-grid-hops']).toBe('5')
  expect((await send(path, 'round', { 'agent-grid-hops': '1000' })).body.error.code).toBe('conversation_paused')
  expect(await outcomes(id)).toEqual(['conversation_paused', 'sent'])
  await expect(createWebhook(grid.acme.store, { url: `http://localhost:8787${path}`, events: ['message'] }))
    .rejects.toThrow('address of this grid')
})

test("no log, metric or error contains a hook's token", async () => {
  const { path, address } = await hook()
  const token = path.slice('/in/'.length)
  const shown = []
  for (
    const [method, at] of [['GET', path], ['POST', path], ['POST', `${path}/`], ['POST', `${path}/x`], [
      'POST',
      `${path}x`,
    ]]
  ) {
    for (const accept of ['text/html', '*/*']) {
      const init = {
        method,
        headers: { accept, 'Content-Type': 'application/json' },
        body: method === 'GET' ? undefined : '{',
      }
      shown.push(await (await grid.request(at, init)).text())
    }
  }
  grid.deps.log.warn('an error of a proxy', { at: address, error: new Error(`no route to ${address}`) })
  const metrics = await grid.request('/metrics', { headers: { Authorization: 'Bearer a-token-of-metrics-0123456789' } })
  shown.push(await metrics.text(), ...grid.logs)

  expect(grid.logs.join('\n')).toContain('"/in/…')
  expect(metrics.status).toBe(200)
  expect(shown.join('\n')).not.toContain(token.slice(0, 20))
  expect(JSON.stringify(await rows(grid, 'SELECT * FROM incoming_hooks WHERE account_id = ?', [grid.acme.id])))
    .not.toContain(token)
})

test('an admin creates a hook, sees its URL once with a warning, and revokes it; a viewer sees no hooks', async () => {
  const at = `/accounts/${grid.acme.id}/settings/account/incoming`
  const admin = await signedInWithRole(grid, 'admin')
  await postWithToken(admin, at, {
    alias: 'builds',
    to: '@bob',
    format: 'template',
    template: '{{a}}',
    signingSecret: 'hidden-1',
  })
  const [{ id }] = await listHooks(grid.acme.store)
  const page = await admin.open(`${at}/${id}`)
  const viewer = await signedInMember(grid, grid.acme, 'viewer')

  expect((await admin.open(at)).text).toContain('@builds')
  expect(page.text).toContain('No guardrail checks what @bob receives')
  expect((await viewer.open(`${at}/${id}`)).status).toBe(403)
  expect(JSON.stringify(await activityOf(grid))).not.toMatch(/hidden-1|\/in\//)
  await postWithToken(admin, `${at}/${id}/revoke`, {})
  expect((await admin.open(at)).text).toContain('No incoming hooks')
})

test("a person can read a hook's messages, but not reply to them", async () => {
  const { person } = await personWithAlias(grid, 'dan')
  const dan = await signedIn(grid, person)
  const { path } = await hook({ to: '@dan' })
  await send(path, 'deployed')
  await followLog(grid.store)
  const [{ id }] = await rows(grid, 'SELECT id FROM threads WHERE account_id = ?', [grid.acme.id])
  const page = await dan.open(`/accounts/${grid.acme.id}/conversations/${id}`)

  expect(page.text).toContain('deployed')
  expect(page.text).toContain('@builds is an incoming hook. It only sends, and nobody reads what is sent to it.')
  expect(page.html).not.toMatch(/<textarea|\?answer=|>Reply</)
})
