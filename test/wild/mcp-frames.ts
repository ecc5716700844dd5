import type { WildClient, WildRequest } from './wild.ts'

const rpc = (does: string, message: Record<string, unknown>, expected: WildRequest['expect']): WildRequest => ({
  does,
  path: '/mcp/v1/grid',
  body: { jsonrpc: '2.0', id: 1, ...message },
  expect: expected,
})
const listed = { status: 200, body: { id: 1, result: { tools: Array.from({ length: 13 }, () => ({})) } } }
const refusedId = { status: 400, body: { id: null, error: { code: -32600 } } }

const client: WildClient = {
  client: 'frames with null and with more members, of old revisions, and with ids that are none',
  seen: 'by hand; old Java, Go and Rust SDKs, and clients behind bridges such as mcp-remote, speak 2024-11-05 alone',
  headers: {
    authorization: 'Bearer <alice key>',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
  requests: [
    rpc('params of null', { method: 'tools/list', params: null }, listed),
    rpc('a cursor of null', { method: 'tools/list', params: { cursor: null } }, listed),
    rpc('_meta of null', { method: 'tools/list', params: { _meta: null } }, listed),
    rpc('a member beside params', { method: 'tools/list', params: {}, context: null, auth: 'x' }, listed),
    {
      does: 'a notification with params of null',
      path: '/mcp/v1/grid',
      body: { jsonrpc: '2.0', method: 'notifications/initialized', params: null },
      expect: { status: 202 },
    },
    rpc(
      'initialize of 2024-11-05',
      { method: 'initialize', params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'x' } } },
      { status: 200, body: { result: { protocolVersion: '2024-11-05' } } },
    ),
    {
      ...rpc('the header of 2024-11-05', { method: 'tools/list' }, listed),
      headers: { 'mcp-protocol-version': '2024-11-05' },
    },
    rpc(
      'initialize with capabilities of another form',
      {
        method: 'initialize',
        params: {
          protocolVersion: '2025-11-25',
          capabilities: { roots: null, sampling: true },
          clientInfo: { title: null },
        },
      },
      { status: 200, body: { result: { protocolVersion: '2025-11-25' } } },
    ),
    rpc('an id that is a fraction', { id: 1.5, method: 'tools/list' }, refusedId),
    {
      does: 'an id that a number does not keep',
      path: '/mcp/v1/grid',
      body: '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}',
      expect: {
        status: 400,
        body: { id: null, error: { message: 'id has more digits than a number keeps. Send it as text.' } },
      },
    },
  ],
}
export default client
