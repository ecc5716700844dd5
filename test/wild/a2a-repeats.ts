import type { WildClient } from './wild.ts'

const path = '/a2a/v1/agents/bob/'
const send = (message: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'message/send',
  params: {
    message: { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Book a table' }], ...message },
    configuration: { blocking: false },
  },
})
const messageId = '2f0d6a35-8a47-4c6e-bb2c-54b4bd5e9a01'

const client: WildClient = {
  client: 'clients that repeat a message after a lost answer, and that go on with a task that has ended',
  seen: 'by hand; clients recover by the words "terminal state"',
  headers: { authorization: 'Bearer <alice key>', 'content-type': 'application/json' },
  requests: [
    {
      does: 'sends',
      path,
      body: send({ messageId }),
      expect: { status: 200, lacks: ['duplicate'], keeps: { task: 'result.id' } },
    },
    {
      does: 'sends it again',
      path,
      body: send({ messageId }),
      expect: { status: 200, body: { result: { id: '<task>', metadata: { duplicate: true } } } },
    },
    {
      does: 'sends another text with the same id',
      path,
      body: send({ messageId, parts: [{ kind: 'text', text: 'Book two' }] }),
      expect: { status: 200, lacks: ['duplicate', '<task>'] },
    },
    {
      does: 'goes on with the task',
      path,
      body: send({ messageId, taskId: '<task>', parts: [{ kind: 'text', text: 'For four' }] }),
      expect: { status: 200, body: { result: { id: '<task>' } }, lacks: ['duplicate'] },
    },
    {
      does: 'goes on with it again, with the same message',
      path,
      body: send({ messageId, taskId: '<task>', parts: [{ kind: 'text', text: 'For four' }] }),
      expect: { status: 200, body: { result: { id: '<task>', metadata: { duplicate: true } } } },
    },
    ...[1, 2].map((n) => ({
      does: `sends with a constant id, ${n}`,
      path,
      body: send({ messageId: '1' }),
      expect: { status: 200, lacks: ['duplicate'] },
    })),
    {
      does: 'cancels the task',
      path,
      body: { jsonrpc: '2.0', id: 1, method: 'tasks/cancel', params: { id: '<task>' } },
      expect: { status: 200, body: { result: { status: { state: 'canceled' } } } },
    },
    {
      does: 'goes on with the ended task',
      path,
      body: send({ messageId, taskId: '<task>' }),
      expect: { status: 200, body: { error: { code: -32004 } }, lacks: ['duplicate'] },
    },
    {
      does: 'looks for the words by which it begins a new task',
      path,
      body: send({ messageId, taskId: '<task>' }),
      expect: { status: 200, body: 'in a terminal state: canceled' },
    },
    {
      does: 'counts the tasks, of which no repeat made one',
      method: 'POST',
      path,
      body: { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} },
      expect: { status: 200, body: { result: { totalSize: 4 } } },
    },
  ],
}
export default client
