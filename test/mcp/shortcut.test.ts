import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { accountToolset, signupToolset, type Toolset } from '../../src/mcp/toolset.ts'
import { sdkPath } from '../../src/mcp/server.ts'
import { shortcut } from '../../src/mcp/shortcut.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { bobsId, type Caller, callers, plainCall, toolsOf } from '../support/mcp-calls.ts'
import { envelope, eras, type WireRequest, wireRequest } from '../support/mcp.ts'

const prefix = 'io.modelcontextprotocol/'

// Two grids with the same history: the shortcut answers on the first, the SDK on the second.
let grids: TestGrid[]
beforeEach(async () => {
  grids = await Promise.all([testGrid(), testGrid()])
  for (const { acme } of grids) {
    await createChannel(acme.store, { name: 'general', members: ['bob'] })
    await createGuardrail(acme.store, { name: 'short', provider: 'length', config: { maxCharacters: 9 } })
  }
})
afterEach(() => Promise.all(grids.map((grid) => grid.close())))

test.each(callers)('the generated calls of caller %s cover all its tools', (caller) => {
  const { tools } = toolsetFor(grids[0], caller)

  expect(toolsOf[caller].toSorted()).toEqual(tools.map(({ name }) => name).toSorted())
})

test.each(eras.flatMap((era) => callers.map((caller) => [era, caller] as const)))(
  '%s: every well-formed request of caller %s takes the shortcut and is answered as the SDK would',
  async (era, caller) => {
    await fc.assert(
      fc.asyncProperty(plainCall(caller), fc.oneof(fc.string(), fc.maxSafeInteger()), async (call, id) => {
        const request = wireRequest(era, call.method, call.params, id)
        expect(await takesShortcut(caller, request)).toBe(!call.isUnknown)
      }),
      { numRuns: 120 },
    )
    const [ours, theirs] = await Promise.all(grids.map(callsIn))
    expect(ours).toEqual(theirs)
    if (caller === 'admin') expect(ours).not.toEqual([])
  },
)

test.each(eras.flatMap((era) => callers.map((caller) => [era, caller] as const)))(
  '%s: a changed request of caller %s is declined, or answered as the SDK would',
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
    for (const [caller, name] of [['agent', 'list_channels'], ['admin', 'admin_list_channels']] as const) {
      for (const params of [{ _meta: {} }, { name, arguments: {}, _meta: {} }]) {
        const request = wireRequest(era, 'name' in params ? 'tools/call' : 'tools/list', structuredClone(params))
        change(request)
        await takesShortcut(caller, request)
      }
    }
  }
})

test('requests take the shortcut whatever clients declare about themselves', async () => {
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

test.each(eras)('%s: a wait takes the shortcut, and both paths answer it alike', async (era) => {
  const call = { name: 'read_messages', arguments: { wait_seconds: 1 } }

  expect(await takesShortcut('agent', wireRequest(era, 'tools/call', call))).toBe(true)
})

test('legacy: a client that sends no version yet, and headers of the other era, takes the shortcut', async () => {
  const request = wireRequest('legacy', 'tools/list', { _meta: { progressToken: 'a' } })
  delete request.headers['MCP-Protocol-Version']
  request.headers['Mcp-Method'] = 'something/else'

  expect(await takesShortcut('agent', request)).toBe(true)
})

/** Whether the shortcut answered; if so, the SDK must have answered the same. */
async function takesShortcut(caller: Caller, { headers, body }: WireRequest): Promise<boolean> {
  const [ours, theirs] = grids.map((grid) => ({
    toolset: toolsetFor(grid, caller),
    message: JSON.parse(JSON.stringify(body).replaceAll(bobsId, grid.bob.id)),
  }))
  const fast = await shortcut(new Headers(headers), ours.message, ours.toolset)
  if (fast === undefined) return false

  const request = new Request('http://localhost:8787/mcp/v1/grid', { method: 'POST', headers })
  const { response: slow } = await sdkPath(grids[1].deps.log)(request, theirs.message, theirs.toolset)
  expect([slow.status, slow.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(comparable(fast.message)).toEqual(comparable(await slow.json()))
  return true
}

function toolsetFor(grid: TestGrid, caller: Caller): Toolset {
  if (caller === 'signup') return signupToolset({ store: grid.store, address: '203.0.113.7' }, 'request')
  const { id: agentId, alias } = grid.alice
  const actor = caller === 'agent'
    ? { type: 'agent' as const, agentId, alias, credentialId: 'test' }
    : { type: 'admin' as const, credentialId: 'test', credentialKind: 'admin_key' as const, userId: null }
  return accountToolset(grid.store.account(grid.acme.id, actor), 'request')
}

/** The admin calls in the activity log of a grid. */
async function callsIn(grid: TestGrid): Promise<unknown> {
  const rows = await grid.acme.store.read.activity.list()
  return comparable(rows.map(({ n, tool, arguments: args, outcome }) => ({ n, tool, args, outcome })))
}

/** An answer without the random values that differ between the grids. */
function comparable(answer: unknown): unknown {
  const text = JSON.stringify(answer)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replace(/grid_agt_[0-9A-Za-z]+/g, 'KEY')
    .replace(/\/claim\/[0-9A-Za-z]+/g, 'CLAIM')
    .replace(/"cursor":"[^"]+"/g, '"cursor":"CURSOR"')
  return JSON.parse(text)
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
  ...setHeader('Mcp-Name', [
    undefined,
    '',
    'list_channels',
    'read_messages',
    'admin_list_channels',
    'admin_list_skills',
    `=?base64?${btoa('list_channels')}?=`,
    `=?base64?${btoa('admin_list_channels')}?=`,
  ]),
  ...setMember(({ body }) => body, 'jsonrpc', ['1.0', '2.0', 2]),
  ...setMember(({ body }) => body, 'id'),
  ...setMember(({ body }) => body, 'method', ['tools/list', 'tools/call', 'ping', 'toString', 5]),
  ...setMember(({ body }) => body, 'params'),
  ...setMember(({ body }) => body, 'result'),
  ...setMember(({ body }) => body, 'extra'),
  ...setMember(params, 'name', [...odd, 'list_channels', 'admin_list_skills', 'toString']),
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
