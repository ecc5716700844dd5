import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { accountOffer, type Offer, signupOffer } from '../../src/mcp/offer.ts'
import { sdkPath } from '../../src/mcp/server.ts'
import { shortcut } from '../../src/mcp/shortcut.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { envelope, eras, type WireRequest, wireRequest } from '../support/mcp.ts'

const prefix = 'io.modelcontextprotocol/'
const callers = ['agent', 'admin', 'signup'] as const
type Caller = (typeof callers)[number]

// Two grids with one history: the shortcut answers on the first, the SDK on the second.
let grids: TestGrid[]
beforeEach(async () => {
  grids = await Promise.all([testGrid(), testGrid()])
})
afterEach(() => Promise.all(grids.map((grid) => grid.close())))

test.each(eras.flatMap((era) => callers.map((caller) => [era, caller] as const)))(
  '%s: every well-formed request of caller %s takes the shortcut and is answered as the SDK would',
  async (era, caller) => {
    await fc.assert(
      fc.asyncProperty(plainCall(caller), fc.oneof(fc.string(), fc.maxSafeInteger()), async (call, id) => {
        const request = wireRequest(era, call.method, call.params, id)
        expect(await takesShortcut(caller, request)).toBe(!call.isUnknown)
      }),
      { numRuns: 60 },
    )
  },
)

test.each(eras.flatMap((era) => callers.map((caller) => [era, caller] as const)))(
  '%s: of a changed request of caller %s the shortcut declines, or answers as the SDK would',
  async (era, caller) => {
    const changed = fc.tuple(plainCall(caller), fc.array(mutation, { minLength: 1, maxLength: 2 }))
    await fc.assert(
      fc.asyncProperty(changed, async ([call, mutations]) => {
        const request = wireRequest(era, call.method, structuredClone({ ...call.params, _meta: {} }))
        for (const change of mutations) change(request)
        await takesShortcut(caller, request)
      }),
      { numRuns: 250 },
    )
  },
)

test.each(eras)('%s: each single change alone is declined or answered alike', async (era) => {
  for (const change of changes) {
    for (const method of ['tools/list', 'tools/call']) {
      const params = method === 'tools/call' ? { name: 'list_channels', arguments: {}, _meta: {} } : { _meta: {} }
      const request = wireRequest(era, method, params)
      change(request)
      await takesShortcut('agent', request)
    }
  }
})

test('what clients declare of themselves does not cost them the shortcut', async () => {
  const request = wireRequest('modern', 'tools/call', { name: 'list_channels' })
  request.body.params._meta = envelope({
    [`${prefix}clientCapabilities`]: {
      roots: { listChanged: true },
      sampling: {},
      elicitation: { form: {}, url: {} },
      extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } },
    },
    [`${prefix}clientInfo`]: { name: 'demo', title: 'Demo', version: '1', websiteUrl: 'https://demo.example' },
    progressToken: 7,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  })

  expect(await takesShortcut('agent', request)).toBe(true)
})

test('legacy: a client that sends no version yet, and headers of the other era, takes the shortcut', async () => {
  const request = wireRequest('legacy', 'tools/list', { _meta: { progressToken: 'a' } })
  delete request.headers['MCP-Protocol-Version']
  request.headers['Mcp-Method'] = 'something/else'

  expect(await takesShortcut('agent', request)).toBe(true)
})

/** Whether the shortcut answered; if so, the SDK must have answered the same. */
async function takesShortcut(caller: Caller, { headers, body }: WireRequest): Promise<boolean> {
  const message = JSON.parse(JSON.stringify(body))
  const [ours, theirs] = grids.map((grid) => offerTo(grid, caller))
  const fast = await shortcut(new Headers(headers), message, ours)
  if (fast === undefined) return false

  const request = new Request('http://localhost:8787/mcp/v1/grid', { method: 'POST', headers })
  const slow = await sdkPath(grids[1].deps.log)(request, message, theirs)
  expect([slow.status, slow.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(comparable(fast)).toEqual(comparable(await slow.json()))
  return true
}

function offerTo(grid: TestGrid, caller: Caller): Offer {
  if (caller === 'signup') return signupOffer({ store: grid.store, address: '203.0.113.7' }, 'request')
  const { id: agentId, alias } = grid.alice
  const actor = caller === 'agent'
    ? { type: 'agent' as const, agentId, alias, credentialId: 'test' }
    : { type: 'admin' as const, credentialId: 'test', credentialKind: 'admin_key' as const, userId: null }
  return accountOffer(grid.store.account(grid.acme.id, actor), 'request')
}

/** The two grids differ in what chance made, and in nothing else. */
function comparable(answer: unknown): unknown {
  const text = JSON.stringify(answer)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replace(/grid_agt_[0-9A-Za-z]+/g, 'KEY')
    .replace(/\/claim\/[0-9A-Za-z]+/g, 'CLAIM')
    .replace(/"cursor":"[^"]+"/g, '"cursor":"CURSOR"')
  return JSON.parse(text)
}

interface PlainCall {
  method: string
  params?: Record<string, unknown>
  isUnknown?: boolean
}

const text = fc.oneof(fc.constantFrom('bob', '@bob', 'alice', '#general', 'nobody', ''), fc.string())

const argumentsOf: Record<string, fc.Arbitrary<Record<string, unknown>>> = {
  send_message: fc.record({ to: text, message: fc.string(), idempotency_key: fc.constantFrom('a', 'b') }, {
    requiredKeys: ['to', 'message'],
  }),
  read_messages: fc.record({ limit: fc.integer({ min: -1, max: 60 }) }, { requiredKeys: [] }),
  message_status: fc.record({ message_id: text }),
  list_agents: fc.record({ search: text, public: fc.boolean() }, { requiredKeys: [] }),
  list_channels: fc.constant({}),
  list_skills: fc.record({ agent: text }, { requiredKeys: [] }),
  set_skills: fc.record({ skills: fc.array(fc.record({ name: text, description: text }, { requiredKeys: ['name'] })) }),
  signup: fc.record({
    owner_email: fc.constantFrom('zoe@example.com', 'zoe'),
    alias: fc.constantFrom('zoe', 'Zoe', 'alice'),
  }),
}

const toolsOf: Record<Caller, string[]> = {
  agent: Object.keys(argumentsOf).filter((name) => name !== 'signup'),
  admin: [],
  signup: ['signup'],
}

/** A list, a call of a tool with arguments good and bad, or a call of a tool that the caller does not have. */
function plainCall(caller: Caller): fc.Arbitrary<PlainCall> {
  const list = fc.constantFrom<PlainCall>({ method: 'tools/list' }, { method: 'tools/list', params: {} })
  const known = toolsOf[caller]
  const unknown = fc.constantFrom(...Object.keys(argumentsOf), 'admin_list_agents', 'constructor')
    .filter((name) => !known.includes(name))
    .map((name) => ({ method: 'tools/call', params: { name, arguments: {} }, isUnknown: true }))
  const calls = known.map((name) =>
    fc.oneof({ weight: 4, arbitrary: argumentsOf[name] }, { weight: 1, arbitrary: fc.object() })
      .map((args) => ({ method: 'tools/call', params: { name, arguments: args } }))
  )
  return fc.oneof(list, unknown, ...calls)
}

type Change = (request: WireRequest) => void

const odd = [null, 0, -0, 1.5, 2 ** 53, '', 'x', true, [], [{}], {}, { a: { b: [1] } }]

const setHeader = (name: string, values: (string | undefined)[]): Change[] =>
  values.map((value) => ({ headers }) => {
    if (value === undefined) delete headers[name]
    else headers[name] = value
  })

const setMember = (at: (request: WireRequest) => unknown, name: string, values: unknown[] = odd): Change[] =>
  [undefined, ...values].map((value) => (request) => {
    const holder = at(request)
    if (typeof holder === 'object' && holder !== null) Object.assign(holder, { [name]: structuredClone(value) })
  })

const params = (request: WireRequest) => request.body.params
const meta = (request: WireRequest) => request.body.params?._meta
const inMeta = (name: string, values?: unknown[]) => setMember(meta, `${prefix}${name}`, values)

const changes: Change[] = [
  ...setHeader('Content-Type', [
    undefined,
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'Application/JSON',
    'application/json; charset',
    'application/json, application/json',
    'text/json',
    'application/jsonl',
  ]),
  ...setHeader('Accept', [
    undefined,
    '*/*',
    'application/json',
    'text/event-stream, application/json;q=0.5',
    'application/*, text/event-stream',
    'APPLICATION/JSON, TEXT/EVENT-STREAM',
  ]),
  ...setHeader('MCP-Protocol-Version', [
    undefined,
    '',
    ' 2026-07-28 ',
    '2026-07-28',
    '2026-07-29',
    '2025-11-25',
    '2025-06-18',
    '2025-03-26',
    '2024-11-05',
    '2025-11-25, 2025-11-25',
  ]),
  ...setHeader('Mcp-Method', [undefined, '', 'tools/list', 'tools/call', ' tools/call', 'TOOLS/CALL']),
  ...setHeader('Mcp-Name', [undefined, '', 'list_channels', 'read_messages', `=?base64?${btoa('list_channels')}?=`]),
  ...setMember(({ body }) => body, 'jsonrpc', ['1.0', '2.0', 2]),
  ...setMember(({ body }) => body, 'id'),
  ...setMember(({ body }) => body, 'method', ['tools/list', 'tools/call', 'ping', 'toString', 5]),
  ...setMember(({ body }) => body, 'params'),
  ...setMember(({ body }) => body, 'result'),
  ...setMember(({ body }) => body, 'extra'),
  ...setMember(params, 'name', [...odd, 'list_channels', 'toString']),
  ...setMember(params, 'arguments'),
  ...setMember(params, 'cursor'),
  ...setMember(params, 'task', [...odd, { ttl: 1 }]),
  ...setMember(params, 'inputResponses'),
  ...setMember(params, 'requestState'),
  ...setMember(params, 'extra'),
  ...setMember(params, '_meta', [...odd, envelope(), { progressToken: 1 }]),
  ...setMember(meta, 'progressToken'),
  ...setMember(meta, 'traceparent'),
  ...inMeta('protocolVersion', [...odd, '2026-07-28', '2025-11-25', '2026-07-29']),
  ...inMeta('clientCapabilities', [
    ...odd,
    { unknown: 5 },
    { roots: 5 },
    { roots: { listChanged: 1 } },
    { roots: { listChanged: {} } },
    { roots: { listChanged: true } },
    { sampling: { context: 1 } },
    { sampling: { context: {}, tools: {} } },
    { sampling: { listChanged: true } },
    { elicitation: {} },
    { elicitation: { form: { applyDefaults: 1 } } },
    { elicitation: { form: {}, url: {} } },
    { experimental: { x: 1 } },
    { experimental: { x: { y: [null] } } },
    { experimental: { listChanged: true } },
    { extensions: { x: [] } },
    { extensions: { x: { mimeTypes: ['text/html'] } } },
    { tasks: { requests: { sampling: 1 } } },
  ]),
  ...inMeta('clientInfo', [
    ...odd,
    { name: 'x' },
    { name: 1, version: '1' },
    { name: 'x', version: '1', title: 5 },
    { name: 'x', version: '1', icons: 'x' },
    { name: 'x', version: '1', icons: [{ src: 'x' }] },
    { name: 'x', version: '1', websiteUrl: 'no address', other: 'x' },
  ]),
  ...inMeta('logLevel', [...odd, 'info']),
  ...inMeta('related-task', [...odd, { taskId: 'x' }]),
  ...inMeta('anything'),
]

const mutation = fc.constantFrom(...changes)
