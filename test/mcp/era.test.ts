/** The era of a message is told quickly where it is plain. It is then what the whole check says. */
import { expect, test } from 'vitest'
import { plainEra } from '../../src/mcp/dispatcher.ts'
import { type Era, eraOf } from '../../src/mcp/era.ts'
import { envelope, eras, type WireRequest, wireRequest } from '../support/mcp.ts'

const prefix = 'io.modelcontextprotocol/'

test.each(eras)('%s: a request that is changed in one place is plainly of its era, or is checked', (era) => {
  for (const change of changes) {
    for (const [method, params] of [['tools/call', { name: 'list_channels' }], ['tools/list', {}]] as const) {
      const request = wireRequest(era, method, { ...params, _meta: {} })
      change(request)
      const plain = plainEra(new Headers(request.headers), request.body)

      if (plain !== undefined) expect([request, plain]).toEqual([request, checkedEra(request)])
    }
  }
})

test.each(
  [
    ['legacy', {}, {}],
    ['legacy', { 'Mcp-Method': 'something/else', 'Mcp-Name': 'x' }, { progressToken: 'a' }],
    ['legacy', { 'Content-Type': 'application/json; charset=utf-8' }, { progressToken: 1 }],
    ['modern', {}, envelope()],
    ['modern', {}, {
      [`${prefix}protocolVersion`]: '2026-07-28',
      [`${prefix}clientCapabilities`]: {
        roots: { listChanged: true },
        sampling: {},
        elicitation: { form: {}, url: {} },
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } },
      },
      progressToken: 7,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    }],
  ] as const,
)('%s: requests are plain whatever clients say of themselves: %j %j', (era, headers, meta) => {
  const request = wireRequest(era, 'tools/call', { name: 'list_channels' })
  Object.assign(request.headers, headers)
  request.body.params._meta = meta

  expect(plainEra(new Headers(request.headers), request.body)).toBe(era)
})

/** The era, or the code of a refusal. */
function checkedEra({ headers, body }: WireRequest): Era | number | undefined {
  try {
    return eraOf(new Headers(headers), body, true)
  } catch (error) {
    return (error as { code: number }).code
  }
}

type Change = (request: WireRequest) => void

const odd = [null, 0, 1.5, 2 ** 53, '', 'x', true, [], [{}], {}, { a: { b: [1] } }]

const setHeader = (name: string, values: (string | undefined)[]): Change[] =>
  values.map((value) => ({ headers }) => {
    if (value === undefined) delete headers[name]
    else headers[name] = value
  })

const setMember = (at: (request: WireRequest) => unknown, name: string, values: unknown[] = odd): Change[] =>
  [undefined, ...values].map((value) => (request) => {
    const holder = at(request)
    if (typeof holder !== 'object' || holder === null) return
    // As in a message that was parsed, nothing is undefined.
    if (value === undefined) delete (holder as Record<string, unknown>)[name]
    else Object.assign(holder, { [name]: structuredClone(value) })
  })

const message = ({ body }: WireRequest) => body
const params = ({ body }: WireRequest) => body.params
const meta = ({ body }: WireRequest) => body.params?._meta
const inMeta = (name: string, values?: unknown[]) => setMember(meta, `${prefix}${name}`, values)

const changes: Change[] = [
  () => {},
  ...setHeader('MCP-Protocol-Version', [undefined, '', 'x', '2026-07-28', '2026-07-29', '2025-11-25', '2024-11-05']),
  ...setHeader('Mcp-Method', [undefined, '', 'tools/list', 'tools/call', 'TOOLS/CALL']),
  ...setHeader('Mcp-Name', [undefined, '', 'list_channels', 'read_messages', `=?base64?${btoa('list_channels')}?=`]),
  ...setMember(message, 'jsonrpc', ['1.0', 2]),
  ...setMember(message, 'id'),
  ...setMember(message, 'method', [...odd, 'initialize', 'ping']),
  ...setMember(message, 'params'),
  ...setMember(message, 'result'),
  ...setMember(message, 'extra'),
  ...setMember(params, '_meta', [...odd, envelope(), { progressToken: 1 }]),
  ...setMember(meta, 'progressToken'),
  ...inMeta('protocolVersion', [...odd, '2026-07-28', '2025-11-25', '2026-07-29']),
  ...inMeta('clientCapabilities', [
    ...odd,
    { roots: 5 },
    { roots: { listChanged: 1 } },
    { sampling: { context: 1 } },
    { elicitation: { form: { applyDefaults: 1 } } },
    { experimental: { x: 1 } },
    { experimental: { listChanged: true } },
    { extensions: { x: [] } },
    { tasks: { requests: { sampling: 1 } } },
  ]),
  ...inMeta('clientInfo', [
    ...odd,
    { name: 'x' },
    { name: 1, version: '1' },
    { name: 'x', version: '1', title: 5 },
    { name: 'x', version: '1', icons: 'x' },
  ]),
  ...inMeta('logLevel', [...odd, 'info']),
  ...inMeta('related-task', [...odd, { taskId: 'x' }]),
]
