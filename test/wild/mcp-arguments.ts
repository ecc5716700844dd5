import type { WildClient, WildOutcome, WildRequest } from './wild.ts'

type Args = Record<string, unknown>

const call = (
  does: string,
  name: string,
  args: unknown,
  answer: WildOutcome['answer'],
  key = 'alice',
): WildRequest => ({
  does,
  path: '/mcp/v1/grid',
  headers: { authorization: `Bearer <${key} key>` },
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  expect: { status: 200, answer, lacks: ['"ignored'] },
})

/** Two calls, by @alice and by an admin, whose extra arguments must not be reported as ignored. */
const silently = (does: string, filler: Args): WildRequest[] => [
  call(does, 'send_message', { to: '@bob', message: 'hi', ...filler }, { recipient: '@bob' }),
  call(`${does}, to a tool of admins`, 'admin_list_channels', filler, { channels: [] }, 'admin'),
]

const empty = { to: '@bob', message: 'hi', reply_to_message_id: '', wait_seconds: '', idempotency_key: '', parts: '' }

const client: WildClient = {
  client: 'arguments that clients and models add, leave empty, or write as text',
  seen:
    'reports of n8n before 2.41.1, whose standalone node still passes what its user maps, of Cline before 3.0.65, and of Cursor; ' +
    'the rest by hand',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  requests: [
    ...silently('n8n adds what its node was given', {
      sessionId: '7b1c',
      action: 'sendMessage',
      chatInput: 'Write to bob',
      toolCallId: 'call_1',
      tool: 'send_message',
    }),
    ...silently('Cline adds its list of tasks', { task_progress: '- [x] read\n- [ ] answer' }),
    ...silently('Cursor fills tools without arguments', { random_string: 'dummy' }),
    call('a model fills each optional argument with an empty text', 'send_message', empty, { recipient: '@bob' }),
    call('a model fills each optional argument with null', 'read_messages', {
      wait_seconds: null,
      limit: null,
      since: null,
      peek: null,
    }, { messages: [] }),
    call('a model writes lists as text', 'send_message', {
      to: '@bob',
      message: 'hi',
      parts: '[{"data":{"id":null,"note":""}}]',
    }, { recipient: '@bob' }),
    call('null and empty texts inside data are kept', 'read_messages', { limit: 10 }, {
      messages: [{}, {}, {}, {}, { parts: [{ data: { id: null, note: '' } }] }],
    }, 'bob'),
    call('a model asks for too much', 'read_messages', { limit: 500, wait_seconds: '' }, {
      clipped: { limit: 50 },
    }),
    {
      ...call('a model invents an argument', 'send_message', { to: '@bob', message: 'hi', cc: '@carol' }, {}),
      expect: { status: 200, answer: { recipient: '@bob', ignored: ['cc'] } },
    },
    {
      ...call(
        "an admin's model invents an argument",
        'admin_create_agent',
        { alias: 'dry', dry_run: true },
        {},
        'admin',
      ),
      expect: { status: 200, answer: { error: { code: 'invalid_input' } } },
    },
    call('no arguments as an empty text', 'list_agents', '', { agents: [{ alias: '@bob' }] }),
    call('no arguments as a list', 'list_agents', [], { agents: [{ alias: '@bob' }] }),
    call('no arguments as null', 'list_agents', null, { agents: [{ alias: '@bob' }] }),
    call('arguments as text', 'list_agents', '{"search":"bob"}', { agents: [{ alias: '@bob' }] }),
  ],
}
export default client
