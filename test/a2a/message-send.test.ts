import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { mailOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { updateTrial } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const routing = 'http://localhost:8787/a2a/ext/grid-routing/v1'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

test('message/send of the specification is delivered and confirmed in 0.3 form', async () => {
  const { status, headers, body } = await post(send03())

  const [mail] = await mailOf(grid, grid.bob)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toContain('application/json')
  expect(body).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      kind: 'message',
      role: 'agent',
      messageId: mail.message_id,
      parts: [{ kind: 'text', text: 'Message delivered to @bob' }],
      contextId: uuid,
    },
  })
  expect(mail).toEqual({
    message_id: body.result.messageId,
    channel: 'direct',
    user: '@alice',
    type: 'agent',
    message: 'hi',
    reply_to: '@alice',
    timestamp: '2026-11-21T09:00:00.000Z',
    conversation_id: body.result.contextId,
    a2a: { messageId: '6f1d4c1e-2b1f-4a57-9d0e-3f6f0c6c1a11', contextId: body.result.contextId },
  })
})

test('SendMessage is delivered and confirmed in 1.0 form', async () => {
  const { body } = await post(send10(), { 'A2A-Version': '1.0' })

  const [mail] = await mailOf(grid, grid.bob)
  expect(body).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      message: {
        role: 'ROLE_AGENT',
        messageId: mail.message_id,
        parts: [{ text: 'Message delivered to @bob' }],
        contextId: uuid,
      },
    },
  })
})

test('with A2A_PLAIN_RECEIPTS a receipt has exactly the members of the specification', async () => {
  await grid.close()
  grid = await testGrid({ env: { A2A_PLAIN_RECEIPTS: '1' } })

  const in03 = await post(send03({ contextId: 'mine' }))
  const in10 = await post(send10({ contextId: 'mine' }))

  const [first, second] = await mailOf(grid, grid.bob)
  expect(in03.body.result).toEqual({
    kind: 'message',
    role: 'agent',
    messageId: first.message_id,
    parts: [{ kind: 'text', text: 'Message delivered to @bob' }],
  })
  expect(in10.body.result).toEqual({
    message: { role: 'ROLE_AGENT', messageId: second.message_id, parts: [{ text: 'Message delivered to @bob' }] },
  })
  expect(first.conversation_id).toBe('mine')
})

test('the same message in 0.3 and in 1.0 gives equal mailbox entries', async () => {
  const shared = { contextId: 'c-1', referenceTaskIds: ['t-1'], extensions: ['https://x.example/e', routing] }
  await post(send03({
    ...shared,
    metadata: { to: 'bob', mood: 'good' },
    parts: [
      { kind: 'text', text: 'one', metadata: { lang: 'en' } },
      { kind: 'file', file: { name: 'a.png', mimeType: 'image/png', bytes: 'AAAA' } },
      { kind: 'file', file: { uri: 'https://x.example/b' } },
      { kind: 'data', data: { answer: 42 } },
    ],
  }))
  await post(send10({
    ...shared,
    metadata: { [`${routing}/to`]: 'bob', mood: 'good' },
    parts: [
      { text: 'one', metadata: { lang: 'en' }, filename: '' },
      { raw: 'AAAA', filename: 'a.png', mediaType: 'image/png' },
      { url: 'https://x.example/b' },
      { data: { answer: 42 } },
    ],
  }))

  const [in03, in10] = await mailOf(grid, grid.bob)
  expect(in10).toEqual({ ...in03, message_id: in10.message_id })
  expect(in03.message).toBe('one')
  expect(in03.a2a).toEqual({
    messageId: '6f1d4c1e-2b1f-4a57-9d0e-3f6f0c6c1a11',
    contextId: 'c-1',
    parts: [
      { text: 'one', metadata: { lang: 'en' } },
      { raw: 'AAAA', filename: 'a.png', mediaType: 'image/png' },
      { url: 'https://x.example/b' },
      { data: { answer: 42 } },
    ],
    metadata: { mood: 'good' },
    extensions: ['https://x.example/e'],
    referenceTaskIds: ['t-1'],
  })
})

test('several text parts are joined in their order; bare ones are not repeated as parts', async () => {
  await post(send03({ parts: ['one', 'two', 'three'].map((text) => ({ kind: 'text', text })) }))

  const [mail] = await mailOf(grid, grid.bob)
  expect(mail.message).toBe('one\ntwo\nthree')
  expect(mail.a2a).not.toHaveProperty('parts')
})

test.each([
  ['emoji and right-to-left text', '👩‍👩‍👧‍👦 שלום مرحبا', '👩‍👩‍👧‍👦 שלום مرحبا'],
  ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
  ['10,000 characters', 'x'.repeat(10_000), 'x'.repeat(10_000)],
])('%s arrives', async (_, text, arrived) => {
  await post(send10({ parts: [{ text }] }))

  expect((await mailOf(grid, grid.bob)).map((mail) => mail.message)).toEqual([arrived])
})

test.each([
  ['0.2 parts named by type', send03({ kind: undefined, parts: [{ type: 'text', text: 'hi' }] })],
  ['0.3 without kind', send03({ kind: undefined, parts: [{ text: 'hi' }] })],
  ['0.3 with the role of 1.0', send03({ role: 'ROLE_USER' })],
  ['1.0 with the role of 0.3', send10({ role: 'user' })],
  [
    'unknown members everywhere',
    send10({ new: 1, parts: [{ text: 'hi', new: 1 }] }, { new: 1, configuration: { new: 1 } }),
  ],
  ['unset members as null', send10({ contextId: null, taskId: null, extensions: null }, { configuration: null })],
  ['unset members as ProtoJSON defaults', send10({ contextId: '', taskId: '', extensions: [] }, { tenant: '' })],
  ['no restriction of output modes', send03({}, { configuration: { blocking: true, acceptedOutputModes: [] } })],
  ['a call that does not want to wait (0.3)', send03({}, { configuration: { blocking: false, historyLength: 0 } })],
  ['a call that does not want to wait (1.0)', send10({}, { configuration: { returnImmediately: true } })],
])('%s: delivered', async (_, body) => {
  const answer = await post(body)

  expect(answer.body).not.toHaveProperty('error')
  expect((await mailOf(grid, grid.bob)).map((mail) => mail.message)).toEqual(['hi'])
})

test('1.0 members are also read in snake_case', async () => {
  const message = {
    message_id: 'm-1',
    context_id: 'c-1',
    role: 'ROLE_USER',
    parts: [{ text: 'hi', media_type: 'text/x' }],
  }
  const { body } = await post(request('SendMessage', { message, metadata: { to: 'bob' } }))

  const [mail] = await mailOf(grid, grid.bob)
  expect(body.result.message.contextId).toBe('c-1')
  expect(mail.a2a).toEqual({ messageId: 'm-1', contextId: 'c-1', parts: [{ text: 'hi', mediaType: 'text/x' }] })
})

test('a context of the client is kept, and a new one is made for each message without', async () => {
  const kept = await post(send03({ contextId: 'my context' }))
  const made = await post(send03())
  const another = await post(send03())

  expect(kept.body.result.contextId).toBe('my context')
  expect(made.body.result.contextId).not.toBe(another.body.result.contextId)
  const conversations = (await mailOf(grid, grid.bob)).map((mail) => mail.conversation_id)
  expect(conversations).toEqual([kept, made, another].map((answer) => answer.body.result.contextId))
})

test.each([
  ['with @', { metadata: { to: '@bob' } }, {}],
  ['without @', { metadata: { to: 'bob' } }, {}],
  ['in upper case and with spaces', { metadata: { to: ' @BOB ' } }, {}],
  ['only in params.metadata', { metadata: null }, { metadata: { to: 'bob' } }],
  ['as tenant', { metadata: undefined }, { tenant: 'bob' }],
  ['under the name of the extension', { metadata: { [`${routing}/to`]: '@bob' } }, {}],
  ['several times and alike', { metadata: { to: 'BOB' } }, { tenant: 'bob', metadata: { to: '@bob' } }],
  ['next to empty ones', { metadata: { to: 'bob' } }, { tenant: '', metadata: { to: null } }],
])('the recipient may be named %s', async (_, message, params) => {
  await post(send03(message, params))

  expect(await mailOf(grid, grid.bob)).toHaveLength(1)
})

test('an agent may write to itself', async () => {
  const { body } = await post(send03({ metadata: { to: 'alice' } }))

  expect(body.result.parts[0].text).toBe('Message delivered to @alice')
  expect(await mailOf(grid, grid.alice)).toHaveLength(1)
})

test.each([
  ['metadata', send03({ metadata: undefined })],
  ['metadata that is not null', send03({ metadata: null })],
  ['a name', send03({ metadata: { to: '' } })],
  ['a name behind the @', send10({ metadata: { to: ' @ ' } })],
  ['the member', send10({ metadata: { too: 'bob' } })],
])("'to' is missing for want of %s: the error names message.metadata and asks for the alias", async (_, body) => {
  const answer = await post(body)

  expect(answer.status).toBe(200)
  expect(answer.body.error).toEqual({
    code: -32000,
    message: "Missing 'to' in message.metadata - specify the recipient @alias",
    data: [ourReason('RECIPIENT_REQUIRED')],
  })
})

test.each([
  ['a number', { metadata: { to: 123 } }, {}],
  ['an object', { metadata: { to: {} } }, {}],
  ['text of 101 characters', { metadata: { to: 'x'.repeat(101) } }, {}],
  ['two different agents', { metadata: { to: 'bob' } }, { tenant: 'alice' }],
  ['different agents in message and params', { metadata: { to: 'bob' } }, { metadata: { to: 'alice' } }],
])('a recipient that is %s is invalid', async (_, message, params) => {
  const { body } = await post(send03(message, params))

  expect(body.error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field: expect.any(String) }] }] })
  expect(await mailOf(grid, grid.bob)).toEqual([])
})

test('an alias that does not exist in the account is not found, whoever else has it', async () => {
  await grid.acme.agent('carol')
  await grid.store.write([{
    sql: `UPDATE agents SET deleted_at = 1 WHERE alias = 'carol' AND "account_id" = ?`,
    args: [grid.acme.id],
  }])

  const unknown = await post(send03({ metadata: { to: '@nobody' } }))
  const foreign = await post(send03({ metadata: { to: '@eve' } }))
  const deleted = await post(send03({ metadata: { to: '@carol' } }))

  expect(unknown.status).toBe(200)
  expect(unknown.body.error).toEqual({
    code: -32602,
    message: "Agent '@nobody' not found",
    data: [ourReason('RECIPIENT_NOT_FOUND')],
  })
  const text = JSON.stringify(unknown.body)
  expect(JSON.stringify(foreign.body)).toBe(text.replace('nobody', 'eve'))
  expect(JSON.stringify(deleted.body)).toBe(text.replace('nobody', 'carol'))
  expect(headersOf(foreign.headers)).toEqual(headersOf(unknown.headers))
  expect(headersOf(deleted.headers)).toEqual(headersOf(unknown.headers))
  expect(await mailOf(grid, grid.eve)).toEqual([])
})

test.each(['@@bob', "bob' OR 1=1", 'böb', 'b', '../bob'])('%s is no agent', async (to) => {
  const { body } = await post(send03({ metadata: { to } }))

  expect(body.error).toMatchObject({ code: -32602, data: [{ reason: 'RECIPIENT_NOT_FOUND' }] })
})

test('a channel is no recipient, even for its members', async () => {
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })

  const { body } = await post(send03({ metadata: { to: '#general' } }))

  expect(body.error).toMatchObject({ code: -32602, message: "Agent '@#general' not found" })
  expect(await mailOf(grid, grid.bob)).toEqual([])
})

test.each([
  ['a file', send03({ parts: [{ kind: 'file', file: { bytes: 'AAAA' } }] })],
  ['data', send10({ parts: [{ data: [1] }] })],
  ['empty texts', send03({ parts: [{ kind: 'text', text: '' }, { kind: 'text', text: '' }] })],
])('only %s: there is no text content in message parts', async (_, body) => {
  const answer = await post(body)

  expect(answer.status).toBe(200)
  expect(answer.body.error).toEqual({
    code: -32005,
    message: 'No text content in message parts',
    data: [a2aReason('CONTENT_TYPE_NOT_SUPPORTED')],
  })
  expect(await mailOf(grid, grid.bob)).toEqual([])
})

test.each([
  ['no params', undefined, 'params'],
  ['params that are an array', [], 'params'],
  ['empty params', {}, 'message'],
  ['a message that is text', { message: 'hi' }, 'message'],
  ['parts that are text', { message: { parts: 'invalid' } }, 'message.role'],
  ['parts that are text, else complete', params({ parts: 'invalid' }), 'message.parts'],
  ['no parts', params({ parts: [] }), 'message.parts'],
  ['missing parts', params({ parts: undefined }), 'message.parts'],
  ['a part that is text', params({ parts: ['hi'] }), 'message.parts[0]'],
  ['a part without content', params({ parts: [{ kind: 'text' }] }), 'message.parts[0]'],
  ['a part with two contents', params({ parts: [{ text: 'a', data: {} }] }), 'message.parts[0]'],
  ['a part of an unknown kind', params({ parts: [{ kind: 'video', text: 'a' }] }), 'message.parts[0].kind'],
  ['a text that is a number', params({ parts: [{ kind: 'text', text: 1 }] }), 'message.parts[0].text'],
  ['a text with U+0000', params({ parts: [{ kind: 'text', text: 'a\0b' }] }), 'message.parts[0].text'],
  ['a file without content', params({ parts: [{ kind: 'file', file: {} }] }), 'message.parts[0].file'],
  ['no messageId', params({ messageId: undefined }), 'message.messageId'],
  ['an empty messageId', params({ messageId: '' }), 'message.messageId'],
  ['a messageId that is a number', params({ messageId: 1 }), 'message.messageId'],
  ['a contextId that is a number', params({ contextId: 1 }), 'message.contextId'],
  ['a contextId of 257 characters', params({ contextId: 'x'.repeat(257) }), 'message.contextId'],
  ['a contextId that is not Unicode', params({ contextId: '\ud800' }), 'message.contextId'],
  ['no role', params({ role: undefined }), 'message.role'],
  ['an unknown role', params({ role: 'robot' }), 'message.role'],
  ['another kind of object', params({ kind: 'task' }), 'message.kind'],
  ['metadata that is text', params({ metadata: 'bob' }), 'message.metadata'],
  ['extensions that are no texts', params({ extensions: [1] }), 'message.extensions'],
  ['a fractional historyLength', { ...params(), configuration: { historyLength: 1.5 } }, 'configuration.historyLength'],
  ['a negative historyLength', { ...params(), configuration: { historyLength: -1 } }, 'configuration.historyLength'],
  ['blocking that is text', { ...params(), configuration: { blocking: 'no' } }, 'configuration.blocking'],
])('%s: -32602 names the member', async (_, given, field) => {
  const { status, body } = await post(request('message/send', given))

  expect(status).toBe(200)
  expect(body.error).toEqual({
    code: -32602,
    message: expect.stringMatching(/\.$/),
    data: [{
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field, description: body.error.message }],
    }],
  })
})

test('a text of 10,001 characters is refused with a sentence about it', async () => {
  const { body } = await post(send03({ parts: [{ kind: 'text', text: 'x'.repeat(10_001) }] }))

  expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('at most 10000') })
})

test('a task that is continued does not exist, with or without a recipient', async () => {
  const named = await post(send10({ taskId: 't-1' }))
  const unnamed = await post(send10({ taskId: 't-1', metadata: undefined }))

  expect(named.body.error).toEqual({
    code: -32001,
    message: 'No task of yours has this id.',
    data: [a2aReason('TASK_NOT_FOUND', { taskId: 't-1' })],
  })
  expect(unnamed.body).toEqual(named.body)
})

test.each([
  ['0.3', send03({}, { configuration: { pushNotificationConfig: { url: 'https://x.example' } } })],
  ['1.0', send10({}, { configuration: { taskPushNotificationConfig: { url: 'https://x.example' } } })],
])('a push configuration is refused in %s', async (_, body) => {
  const answer = await post(body)

  expect(answer.body.error).toMatchObject({
    code: -32003,
    data: [{ reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED', domain: 'a2a-protocol.org' }],
  })
  expect(await mailOf(grid, grid.bob)).toEqual([])
})

test('the first fault wins: shape, recipient missing, recipient unknown, task, text, push', async () => {
  const push = { configuration: { pushNotificationConfig: { url: 'https://x.example' } } }
  const noText = [{ kind: 'data', data: {} }]
  const codes = []
  for (
    const body of [
      send03({ messageId: 1, metadata: {} }, push),
      send03({ metadata: {}, parts: noText }, push),
      send03({ metadata: { to: 'eve' }, taskId: 't-1', parts: noText }, push),
      send03({ taskId: 't-1', parts: noText }, push),
      send03({ parts: noText }, push),
      send03({}, push),
    ]
  ) codes.push((await post(body)).body.error.data[0].reason ?? 'shape')

  expect(codes).toEqual([
    'shape',
    'RECIPIENT_REQUIRED',
    'RECIPIENT_NOT_FOUND',
    'TASK_NOT_FOUND',
    'CONTENT_TYPE_NOT_SUPPORTED',
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
  ])
})

test('the same Idempotency-Key is one message and one answer, with the id of each request', async () => {
  const key = { 'Idempotency-Key': 'k-1' }
  const first = await post(send03(), key)
  const repeat = await post({ ...send03(), id: 'again' }, key)

  expect(repeat.body).toEqual({ ...first.body, id: 'again' })
  expect(await mailOf(grid, grid.bob)).toHaveLength(1)
})

test('another request under the same Idempotency-Key is a conflict', async () => {
  const key = { 'Idempotency-Key': 'k-1' }
  await post(send03(), key)

  for (const body of [send03({ messageId: 'other' }), send03({ contextId: 'c' }), send10()]) {
    expect((await post(body, key)).body.error).toMatchObject({
      code: -32602,
      data: [{ reason: 'IDEMPOTENCY_CONFLICT', domain: 'localhost' }],
    })
  }
  expect(await mailOf(grid, grid.bob)).toHaveLength(1)
})

test('a refused send leaves its Idempotency-Key free', async () => {
  const key = { 'Idempotency-Key': 'k-1' }
  await post(send03({ metadata: { to: 'nobody' } }), key)

  expect((await post(send03(), key)).body.result.kind).toBe('message')
})

test('an Idempotency-Key of 201 characters is invalid', async () => {
  const { body } = await post(send03(), { 'Idempotency-Key': 'k'.repeat(201) })

  expect(body.error.code).toBe(-32602)
})

test('the same messageId without a key is two messages', async () => {
  await post(send03())
  await post(send03())

  expect(await mailOf(grid, grid.bob)).toHaveLength(2)
})

test('a trial ends with its 10th message: the 11th is refused and changes nothing', async () => {
  await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: grid.clock.now + 1_000 })
  for (let n = 1; n <= 10; n++) await post(send03())

  const { status, body } = await post(send03())

  expect(status).toBe(200)
  expect(body.error).toMatchObject({
    code: -32051,
    message: expect.stringContaining('10 of 10 messages'),
    data: [{ reason: 'TRIAL_EXHAUSTED', domain: 'localhost' }],
  })
  expect(await mailOf(grid, grid.bob)).toHaveLength(10)
})

function post(body: unknown, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers)
}

/** Complete params of a 0.3 send, with these members of the message over the usual ones. */
function params(message: Record<string, unknown> = {}) {
  return send03(message).params as Record<string, unknown>
}

function a2aReason(reason: string, metadata?: Record<string, string>) {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org', metadata }
}

function ourReason(reason: string) {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'localhost' }
}

function headersOf(headers: Headers) {
  const { 'x-request-id': _, ...others } = Object.fromEntries(headers)
  return others
}
