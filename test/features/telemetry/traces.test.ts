/** The spans of calls, and which traces they continue. See docs/operating/monitoring.md, "Traces". */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AccountTrace, CallTrace } from '../../../src/call-trace.ts'
import { minute, second } from '../../../src/lib/time.ts'
import { Traces } from '../../../src/features/telemetry/traces.ts'
import { type CollectedSpan, type Collector, startCollector, treeOf } from '../../support/collector.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard } from '../../support/guarded.ts'
import { answering, remoteProviders } from '../../support/guardrail-services.ts'
import { followIdle } from '../../support/idle.ts'
import { callTool, gridPath, wireRequest } from '../../support/mcp.ts'
import { messageResult, remoteAgent, taskResult } from '../../support/remote-agent.ts'
import { callRest } from '../../support/rest.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

const given = { trace: '0af7651916cd43dd8448eb211c80319c', parent: 'b7ad6b7169203331' }
const traceparent = `00-${given.trace}-${given.parent}-01`

let collector: Collector
let grid: TestGrid
beforeEach(async () => {
  collector = await startCollector()
  grid = await testGrid({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, ALLOW_PRIVATE_TARGETS: '1' } })
})
afterEach(async () => {
  await grid.close()
  await collector.close()
})

/** Closes the grid. Returns all spans that it has sent. */
async function spansSent(): Promise<CollectedSpan[]> {
  await grid.deps.traces!.close()
  return collector.spans
}

const send = async (key: string, to: string, message: string, more: object = {}): Promise<string> => {
  grid.clock.now += minute
  const { text } = await callTool(grid, key, 'send_message', { to, message, ...more })
  if (text.error) throw new Error(text.error.message)
  return text.message_id
}
const read = async (key: string) => {
  grid.clock.now += minute
  return (await callTool(grid, key, 'read_messages')).text
}
const named = (spans: CollectedSpan[], name: string) => spans.filter((span) => span.name === name)
const callOf = (spans: CollectedSpan[], verb: CollectedSpan) =>
  spans.find(({ spanId }) => spanId === verb.parentSpanId)!

test('sending a message, reading it and answering it are one trace, with each request, verb and commit', async () => {
  const question = await send(grid.alice.key, 'bob', 'canary-text')
  await read(grid.bob.key)
  await send(grid.bob.key, 'alice', 'canary-answer', { reply_to_message_id: question })
  await read(grid.alice.key)
  const spans = await spansSent()

  const [{ traceId }] = named(spans, 'send_message')
  expect(treeOf(spans, traceId)).toBe(
    [
      'POST /mcp/v1/grid',
      '  send_message',
      '    commit',
      '  POST /mcp/v1/grid',
      '    read_messages',
      '      commit',
      '  POST /mcp/v1/grid',
      '    send_message',
      '      commit',
      '    POST /mcp/v1/grid',
      '      read_messages',
      '        commit',
    ].join('\n').replaceAll('/mcp/v1/grid', gridPath),
  )
  expect(spans.every((span) => span.traceId === traceId)).toBe(true)
  const { acme, alice, bob } = grid
  for (const word of ['canary', 'alice', 'bob', acme.id, alice.id, bob.id, question]) {
    expect(collector.text()).not.toContain(word)
  }
})

test('a call with a known key continues the trace of its request, and links to the traces of messages it reads', async () => {
  const first = await send(grid.bob.key, 'alice', 'of another trace')
  const { headers, body } = wireRequest('legacy', 'tools/call', { name: 'read_messages', arguments: {} })
  const post = (key: string) => grid.post(gridPath, body, { ...headers, traceparent, Authorization: `Bearer ${key}` })
  expect(await (await post(grid.alice.key)).text()).toContain(first)
  expect((await post('no such key')).status).toBe(401)
  await grid.request('/healthz', { headers: { traceparent } })
  await grid.request('/canary-path', { method: 'CANARY' })
  const spans = await spansSent()

  const [sent] = named(spans, 'send_message')
  const [reading] = named(spans, 'read_messages')
  const call = callOf(spans, reading)
  expect(call).toMatchObject({ traceId: given.trace, parentSpanId: given.parent })
  expect(call.links).toMatchObject([{ traceId: sent.traceId, spanId: callOf(spans, sent).spanId }])
  const anonymous = spans.find(({ attributes }) => JSON.stringify(attributes).includes('unauthenticated'))!
  expect(anonymous.traceId).not.toBe(given.trace)
  expect(anonymous.parentSpanId).toBeUndefined()
  expect(spans.filter(({ name }) => name.includes('healthz'))).toEqual([])
  expect(collector.text().toLowerCase()).not.toContain('canary')
})

test.each(['', 'nonsense', `00-${'0'.repeat(32)}-${given.parent}-01`, `ff-${given.trace}-${given.parent}-01`])(
  'an invalid traceparent "%s" is ignored',
  async (traceparent) => {
    const { headers, body } = wireRequest('legacy', 'tools/call', { name: 'read_messages', arguments: {} })
    await grid.post(gridPath, body, { ...headers, traceparent, Authorization: `Bearer ${grid.alice.key}` })
    const spans = await spansSent()

    expect(callOf(spans, named(spans, 'read_messages')[0]).parentSpanId).toBeUndefined()
  },
)

test("a message between accounts gets a link, and neither account continues the other's trace", async () => {
  const desk = await grid.evil.agent('desk', { visibility: 'public' })
  const question = await send(grid.alice.key, 'desk', 'hello')
  await read(desk.key)
  await send(desk.key, 'alice', 'hello to you', { reply_to_message_id: question })
  const spans = await spansSent()

  const [asked, answered] = named(spans, 'send_message').map((verb) => callOf(spans, verb))
  const reading = callOf(spans, named(spans, 'read_messages')[0])
  expect(new Set([asked, answered, reading].map(({ traceId }) => traceId)).size).toBe(3)
  for (const call of [reading, answered]) {
    expect(call.parentSpanId).toBeUndefined()
    expect(call.links).toMatchObject([{ traceId: asked.traceId, spanId: asked.spanId }])
  }
})

test('a message to a remote agent of the account carries the trace, and the answer continues it', async () => {
  const remote = await remoteAgent(() => messageResult('42'))
  const outboxes = new TestOutboxes(grid.store)
  const robot = { alias: 'robot', type: 'a2a', remoteUrl: remote.url }
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', robot)
  await send(grid.alice.key, 'robot', 'What is 6 times 7?')
  grid.clock.now += second
  await outboxes.run()
  await outboxes.settled()
  await read(grid.alice.key)
  await outboxes.stop()
  await remote.close()
  const spans = await spansSent()

  const [{ traceId }] = named(spans, 'send_message')
  const [, told] = String(remote.calls[0].headers.traceparent).match(/^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/)!
  expect(told).toBe(traceId)
  expect(treeOf(spans, traceId).split('\n').map((line) => line.trim())).toEqual([
    ...[`POST ${gridPath}`, 'send_message', 'commit', 'deliver inbox'],
    // The spans of claiming the outbox, sending, storing the answer, and releasing the outbox.
    ...['commit', 'POST', 'commit', 'commit'],
    ...[`POST ${gridPath}`, 'read_messages', 'commit'],
  ])
})

test("a request to a guardrail's service does not carry the trace, but has a span", async () => {
  const { webhook } = remoteProviders
  const service = await answering(webhook.harmless)
  const { token } = webhook
  await guard(grid.acme, 'alice', {
    direction: 'outbound',
    provider: 'webhook',
    config: webhook.config(service.url),
    token,
  })
  await send(grid.alice.key, 'bob', 'hello')
  await service.close()
  const spans = await spansSent()

  expect(service.requests[0].headers.traceparent).toBeUndefined()
  const [verb] = named(spans, 'send_message')
  expect(named(spans, 'guardrails')).toMatchObject([{ traceId: verb.traceId, parentSpanId: verb.spanId }])
  expect(named(spans, 'POST')).toMatchObject([{ traceId: verb.traceId, kind: 3 }])
})

test("a refusal's span has its code, and only a fault of the grid has an error status", async () => {
  await callTool(grid, grid.alice.key, 'send_message', { to: 'nobody', message: 'hello' })
  const { messages } = grid.store.account(grid.acme.id, { type: 'system', job: 'test' }).read
  messages.byKey = () => Promise.reject(new Error('canary of a fault'))
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hello', idempotency_key: 'k' })
  const spans = await spansSent()

  const calls = named(spans, 'send_message').map((verb) => callOf(spans, verb))
  const codeOf = ({ attributes }: CollectedSpan) =>
    attributes.find(({ key }) => key === 'error.type')?.value.stringValue
  expect(calls.map((call) => [codeOf(call), call.status.code])).toEqual([['recipient_not_found', 0], ['internal', 2]])
  expect(collector.text()).not.toContain('canary')
})

test('without the setting, no trace is stored or propagated', async () => {
  const ofAcme = 'SELECT traceparent FROM messages WHERE account_id = ?'
  const silent = await testGrid()
  await callTool(silent, silent.alice.key, 'send_message', { to: 'bob', message: 'hello' })
  expect(await rows(silent, ofAcme, [silent.acme.id])).toEqual([{ traceparent: null }])
  await silent.close()

  await send(grid.alice.key, 'bob', 'hello')
  expect(await rows(grid, ofAcme, [grid.acme.id])).toMatchObject([
    { traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) },
  ])
})

test('if the collector refuses spans, the grid logs it and serves calls', async () => {
  const refusing = await startCollector(400)
  const other = await testGrid({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: refusing.url } })
  await callTool(other, other.alice.key, 'send_message', { to: 'bob', message: 'hello' })
  await other.deps.traces!.close()

  expect(other.logs.filter((line) => line.includes('Traces could not be sent'))).toHaveLength(1)
  await other.close()
  await refusing.close()
})

test("an account's propagated traces are recorded up to its rate, without affecting other accounts", async () => {
  const begunAt = performance.now()
  const call = (account: string) => {
    const trace = new CallTrace(grid.deps.log, grid.deps.traces!.request(() => traceparent))
    trace.account = new AccountTrace(account, undefined, grid.deps.now)
    trace.spans!.end(() => ({ method: 'POST', route: account, status: 200 }))
  }
  for (let n = 0; n < 1_500; n++) call('of many calls')
  const seconds = (performance.now() - begunAt) / second
  call('of one call')
  const spans = await spansSent()

  expect(named(spans, 'POST of many calls').length).toBeGreaterThanOrEqual(200)
  expect(named(spans, 'POST of many calls').length).toBeLessThanOrEqual(201 + 50 * seconds)
  expect(named(spans, 'POST of one call')).toHaveLength(1)
})

test("new traces are recorded up to the process's rate", async () => {
  const begunAt = performance.now()
  for (let n = 0; n < 500; n++) requestOf(() => null).end(() => ({ method: 'GET', route: '/x', status: 200 }))
  const seconds = (performance.now() - begunAt) / second
  const spans = await spansSent()

  expect(named(spans, 'GET /x').length).toBeGreaterThanOrEqual(50)
  expect(named(spans, 'GET /x').length).toBeLessThanOrEqual(51 + 20 * seconds)
})

test("a call's span links to at most ten other traces, each once, and has at most 50 steps", async () => {
  const spans = requestOf(() => traceparent)
  spans.follow({ traceparent, isExternal: 1 })
  for (let n = 0; n < 30; n++) {
    const trace = `${10 + Math.floor(n / 2)}`.padEnd(32, 'a')
    spans.follow({ traceparent: `00-${trace}-${given.parent}-01`, isExternal: 1 })
  }
  for (let n = 0; n < 60; n++) spans.step('step')()
  spans.end(() => ({ method: 'GET', route: '/x', status: 200 }))
  const sent = await spansSent()

  const traces = named(sent, 'GET /x')[0].links.map(({ traceId }) => traceId.slice(0, 2))
  expect(traces).toEqual(Array.from({ length: 10 }, (_, n) => `${10 + n}`))
  expect(named(sent, 'step')).toHaveLength(50)
})

test.each([[204, 0, 204], [404, 2, 404], [503, 2, 503], [undefined, 2, undefined]])(
  'a span of an outgoing request that ends with %s has the status %i',
  async (status, code, told) => {
    const spans = requestOf(() => null)
    spans.sending('POST')!.end(status)
    spans.end(() => ({ method: 'GET', route: '/x', status: 200 }))

    const [sent] = named(await spansSent(), 'POST')
    expect(sent.status.code).toBe(code)
    expect(sent.attributes.find(({ key }) => key === 'http.response.status_code')?.value.intValue).toBe(told)
  },
)

test('an attempt has an error status if the server was unreachable, and a call if its response is 500', async () => {
  for (const isReached of [true, false]) grid.deps.traces!.attempt().endAttempt(`reached ${isReached}`, isReached)
  for (const status of [499, 500]) requestOf(() => null).end(() => ({ method: 'GET', route: `/${status}`, status }))
  const spans = await spansSent()

  const codes = ['reached true', 'reached false', 'GET /499', 'GET /500'].map((name) =>
    named(spans, name)[0].status.code
  )
  expect(codes).toEqual([0, 2, 0, 2])
})

test("a call that waits for an answer links to the answer's trace", async () => {
  const idle = followIdle(grid.store)
  await read(grid.bob.key)
  const asking = callRest(grid, grid.alice.key, 'POST /api/v1/messages', {
    ...{ to: '@bob', message: 'how many?', wait_seconds: 50 },
  })
  await idle(1)
  await send(grid.bob.key, 'alice', 'three')
  expect((await asking).body.answer.messages).toMatchObject([{ message: 'three' }])
  const spans = await spansSent()

  const answered = callOf(spans, named(spans, 'send_message')[0])
  expect(named(spans, 'POST /api/v1/messages')[0].links).toMatchObject([{ traceId: answered.traceId }])
})

test("polling a remote agent for a message continues the message's trace", async () => {
  const remote = await remoteAgent(({ method }) =>
    method === 'SendMessage' ? taskResult('t1', 'WORKING') : taskResult('t1', 'COMPLETED', { isLook: true, said: '42' })
  )
  const outboxes = new TestOutboxes(grid.store)
  const robot = { alias: 'robot', type: 'a2a', remoteUrl: remote.url }
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', robot)
  await send(grid.alice.key, 'robot', 'What is 6 times 7?')
  for (let n = 0; n < 2; n++) {
    grid.clock.now += second
    await outboxes.run()
    await outboxes.settled()
  }
  await outboxes.stop()
  await remote.close()
  const spans = await spansSent()

  const [{ traceId }] = named(spans, 'send_message')
  expect(named(spans, 'deliver task')).toMatchObject([{ traceId }])
})

test("OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES identify the process's spans", async () => {
  vi.stubEnv('OTEL_SERVICE_NAME', 'grid-of-acme')
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment=canary-stage')
  const traces = new Traces(collector.url, { log: grid.deps.log, now: grid.deps.now })
  vi.unstubAllEnvs()
  traces.attempt().endAttempt('one', true)
  await traces.close()

  expect(collector.text()).toContain('grid-of-acme')
  expect(collector.text()).toContain('canary-stage')
})

/** Returns a request's spans, as a call with a valid key creates them. */
function requestOf(traceparent: () => string | null) {
  const spans = grid.deps.traces!.request(traceparent)
  spans.trustCaller()
  return spans
}
