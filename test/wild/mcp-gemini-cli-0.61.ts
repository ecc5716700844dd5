import type { WildClient } from './wild.ts'

const call = (name: string, args: Record<string, unknown> = {}) => ({
  path: '/mcp/v1/grid',
  body: { method: 'tools/call', params: { name, arguments: args }, jsonrpc: '2.0', id: 3 },
})

/**
 * For a result without `structuredContent`, Gemini CLI parses the first text, and fails the call if it is JSON but not
 * an object (`packages/core/src/tools/mcp-compliance-transport.ts`).
 */
const client: WildClient = {
  client: 'Gemini CLI 0.61.0: parses the first text of a result',
  seen: 'run with OAuth and with a key; source of 0.61.0',
  headers: {
    authorization: 'Bearer <alice key>',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  },
  requests: [
    {
      does: '@bob writes',
      ...call('send_message', { to: '@alice', message: 'hello' }),
      headers: { authorization: 'Bearer <bob key>' },
      expect: { status: 200, answer: { recipient: '@alice' } },
    },
    { does: 'reads', ...call('read_messages'), expect: { status: 200, answer: { messages: [{ message: 'hello' }] } } },
    {
      does: 'reads again',
      ...call('read_messages', { since: 'last_batch' }),
      expect: { status: 200, answer: { messages: [{ message: 'hello', replayed: true }] } },
    },
    { does: 'reads nothing', ...call('read_messages'), expect: { status: 200, answer: { messages: [] } } },
    {
      does: 'lists agents',
      ...call('list_agents'),
      expect: { status: 200, answer: { agents: [{ alias: '@bob' }] } },
    },
    { does: 'lists channels', ...call('list_channels'), expect: { status: 200, answer: { channels: [] } } },
    { does: 'lists skills', ...call('list_skills'), expect: { status: 200, answer: { skills: [] } } },
    {
      does: 'searches',
      ...call('search_messages', { query: 'nothing' }),
      expect: { status: 200, answer: { messages: [] } },
    },
    {
      does: 'asks and waits',
      ...call('send_message', { to: '@bob', message: 'anybody?', wait_seconds: 1 }),
      expect: { status: 200, answer: { recipient: '@bob', answer: [] } },
    },
  ],
}
export default client
