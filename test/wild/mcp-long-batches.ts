import type { WildClient, WildRequest } from './wild.ts'

const call = (does: string, name: string, args: object, expected: WildRequest['expect']): WildRequest => ({
  does,
  path: '/mcp/v1/grid',
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  expect: expected,
})
const some = { status: 200, answer: { has_more: true }, maxBytes: 34_000 }

const client: WildClient = {
  client: 'clients that cut an answer: 50 messages of 1,600 characters',
  seen:
    'run: Claude Code 2.1.332 showed 2,359 characters of 86,752 bytes, opencode 1.18.33 nothing, Codex 0.171.0 7 messages, ' +
    'Gemini CLI 0.61.0 about 23, and all were read; it shows 40,000 characters',
  headers: {
    authorization: 'Bearer <alice key>',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
  requests: [
    {
      ...call('@bob writes', 'send_message', { to: '@alice', message: 'x'.repeat(1_600) }, { status: 200 }),
      headers: { authorization: 'Bearer <bob key>' },
      times: 50,
    },
    {
      does: 'lists the tools, of which Claude Code shows longer answers than others',
      path: '/mcp/v1/grid',
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      expect: { status: 200, body: '"anthropic/maxResultSizeChars":200000' },
    },
    { ...call('reads what fits', 'read_messages', {}, some), times: 3 },
    call('reads the rest', 'read_messages', {}, { status: 200, lacks: ['has_more'], maxBytes: 34_000 }),
    call('reads nothing', 'read_messages', {}, { status: 200, answer: { messages: [] } }),
  ],
}
export default client
