import type { WildClient } from './wild.ts'

const unset = { metadata: null, extensions: [], referenceTaskIds: [], contextId: '', taskId: '' }
const none = { text: '', raw: '', url: '', data: null, filename: '', mediaType: '', metadata: null }
const send = (message: object, configuration?: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: {
    tenant: '',
    message: { ...unset, role: 'ROLE_USER', messageId: '9b5a7c7e-64d3-4d0b-9a53-1c3b2f8d5e01', ...message },
    ...(configuration && { configuration }),
  },
})
const refused = (field: string) => ({
  status: 200,
  body: { error: { code: -32602, data: [{ fieldViolations: [{ field }] }] } },
})
const task = { status: 200, body: { result: { task: { status: { state: 'TASK_STATE_SUBMITTED' } } } } }
const path = '/a2a/v1/agents/bob/'
const atOnce = { returnImmediately: true }

const client: WildClient = {
  client: 'writers of ProtoJSON, with every unset member',
  seen: 'a2a-java issue 1062, and requests that are put together by hand',
  headers: { authorization: 'Bearer <alice key>', 'content-type': 'application/json' },
  requests: [
    {
      does: 'sends a text beside unset contents',
      path,
      body: send({ parts: [{ ...none, text: 'hi' }] }, { ...atOnce, acceptedOutputModes: [], historyLength: 0 }),
      expect: { ...task, lacks: ['"history"'], keeps: { task: 'result.task.id' } },
    },
    {
      does: 'writes enums as numbers, numbers and flags as texts, and a push configuration without any value',
      path,
      body: send({ role: 1, parts: [{ text: 'hi' }] }, {
        returnImmediately: 'true',
        historyLength: '1',
        taskPushNotificationConfig: {
          tenant: '',
          id: '',
          taskId: '',
          url: '',
          token: '',
          authentication: { scheme: '', credentials: '' },
        },
      }),
      expect: { ...task, body: { result: { task: { history: [{ role: 'ROLE_USER', parts: [{ text: 'hi' }] }] } } } },
    },
    {
      does: 'sends bytes in the alphabet of URLs, without padding',
      path,
      body: send({ parts: [{ ...none, raw: '-_8', filename: 'a.bin' }] }, atOnce),
      expect: { ...task, body: { result: { task: { history: [{ parts: [{ raw: '+/8=', filename: 'a.bin' }] }] } } } },
    },
    {
      does: 'sends bytes that are not base64',
      path,
      body: send({ parts: [{ text: 'hi' }, { ...none, raw: 'not base64!' }] }, atOnce),
      expect: refused('message.parts[1].raw'),
    },
    {
      does: 'sends the same bytes over REST',
      path: '/api/v1/messages',
      body: { to: '@bob', message: 'hi', parts: [{ text: 'hi' }, { raw: 'not base64!' }] },
      expect: { status: 400, body: 'parts[1].raw must be base64' },
    },
    {
      does: 'fills two contents of a part',
      path,
      body: send({ parts: [{ ...none, text: 'hi', url: 'https://files.example/a' }] }, atOnce),
      expect: refused('message.parts[0]'),
    },
    {
      does: 'sends a part of 0.3 with unset members',
      path,
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: {
          message: {
            kind: '',
            role: 'user',
            messageId: '9b5a7c7e-64d3-4d0b-9a53-1c3b2f8d5e02',
            parts: [
              { kind: '', text: 'hi', file: { name: '', mimeType: '', bytes: '', uri: '' }, data: null },
              { kind: 'file', file: { name: 'a', mimeType: '', bytes: '', uri: 'https://files.example/a' } },
            ],
          },
          configuration: { blocking: false, pushNotificationConfig: { url: '', token: '' } },
        },
      },
      expect: {
        status: 200,
        body: {
          result: {
            history: [{
              parts: [{ kind: 'text', text: 'hi' }, { kind: 'file', file: { uri: 'https://files.example/a' } }],
            }],
          },
        },
      },
    },
    {
      does: 'lists tasks with unset filters, and the state as a number',
      path,
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'ListTasks',
        params: {
          tenant: '',
          contextId: '',
          status: 1,
          pageSize: '10',
          pageToken: '',
          historyLength: 0,
          statusTimestampAfter: '',
          includeArtifacts: 'false',
        },
      },
      expect: { status: 200, body: { result: { pageSize: 10, totalSize: 3 } }, lacks: ['"history"'] },
    },
    {
      does: 'lists tasks of no state, over HTTP',
      method: 'GET',
      path: `${path}tasks?status=TASK_STATE_UNSPECIFIED&pageSize=1&includeArtifacts=true`,
      expect: { status: 200, body: { pageSize: 1, totalSize: 3 } },
    },
  ],
}
export default client
