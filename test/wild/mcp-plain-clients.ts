import type { WildClient } from './wild.ts'

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const tools = { status: 200, headers: { 'content-type': 'application/json' }, body: '"send_message"' }
const accepts = (accept: string | null) => ({
  does: `lists the tools, with Accept: ${accept ?? '(none)'}`,
  path: '/mcp/v1/grid',
  headers: { accept },
  body: list,
  expect: tools,
})

const client: WildClient = {
  client: 'curl and HTTP nodes of workflows: any Accept',
  seen: 'by hand; curl sends */*',
  headers: { authorization: 'Bearer <alice key>', 'content-type': 'application/json' },
  requests: [
    accepts('*/*'),
    accepts(null),
    accepts('application/json'),
    {
      does: 'lists the tools, taking event streams alone',
      path: '/mcp/v1/grid',
      headers: { accept: 'text/event-stream' },
      body: list,
      expect: { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'event: message\ndata: {' },
    },
    accepts('application/*'),
    accepts('APPLICATION/JSON, TEXT/EVENT-STREAM'),
    accepts('application/mcp+json'),
    {
      does: 'notifies without Accept',
      path: '/mcp/v1/grid',
      body: { jsonrpc: '2.0', method: 'notifications/initialized' },
      expect: { status: 202 },
    },
  ],
}
export default client
