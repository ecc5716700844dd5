import { beforeEach, expect, test } from 'vitest'
import { inboxOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const routing = 'http://localhost:8787/a2a/ext/grid-routing/v1'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('the documented message/send is delivered, and confirmed in 0.3 form', async () => {
  const { status, headers, body } = await post(send03())

  const [message] = await inboxOf(grid, grid.bob)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toContain('application/json')
  expect(body).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      kind: 'message',
      role: 'agent',
      messageId: message.message_id,
      parts: [{ kind: 'text', text: 'Message delivered to @bob' }],
      contextId: uuid,
      taskId: uuid,
      metadata: { recipientPresence: 'nobody yet' },
    },
  })
  expect(message).toEqual({
    message_id: body.result.messageId,
    channel: 'direct',
    via: 'a2a',
    user: '@alice',
    type: 'agent',
    message: 'hi',
    reply_to: '@alice',
    timestamp: '2026-11-21T09:00:00.000Z',
    conversation_id: uuid,
    task_id: body.result.taskId,
    note: 'To complete this task, answer with reply_to_message_id, or call update_task.',
    a2a: {
      messageId: 'message-1',
      contextId: body.result.contextId,
      taskId: body.result.taskId,
    },
  })
})

test('SendMessage is delivered, and confirmed in 1.0 form', async () => {
  const { body } = await post(send10(), { 'A2A-Version': '1.0' })

  const [message] = await inboxOf(grid, grid.bob)
  expect(body).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      message: {
        role: 'ROLE_AGENT',
        messageId: message.message_id,
        parts: [{ text: 'Message delivered to @bob' }],
        contextId: uuid,
        taskId: uuid,
        metadata: { recipientPresence: 'nobody yet' },
      },
    },
  })
})

test('with A2A_PLAIN_RECEIPTS a confirmation has only the fields kind, role, messageId and parts', async () => {
  grid = await testGrid({ env: { A2A_PLAIN_RECEIPTS: '1' } })

  const in03 = await post(send03({ contextId: 'mine' }))
  const in10 = await post(send10({ contextId: 'mine' }))

  const [first, second] = await inboxOf(grid, grid.bob)
  expect(in03.body.result).toEqual({
    kind: 'message',
    role: 'agent',
    messageId: first.message_id,
    parts: [{ kind: 'text', text: 'Message delivered to @bob' }],
  })
  expect(in10.body.result).toEqual({
    message: { role: 'ROLE_AGENT', messageId: second.message_id, parts: [{ text: 'Message delivered to @bob' }] },
  })
  expect(first.conversation_id).toBe(second.conversation_id)
})

test('the same message in 0.3 and in 1.0 looks identical in the inbox', async () => {
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

  const [in03, in10] = await inboxOf(grid, grid.bob)
  expect(in10).toEqual({
    ...in03,
    message_id: in10.message_id,
    task_id: expect.any(String),
    a2a: { ...in03.a2a as object, taskId: expect.any(String) },
  })
  expect(in03.message).toBe('one')
  expect(in03.a2a).toEqual({
    messageId: 'message-1',
    contextId: 'c-1',
    taskId: uuid,
    metadata: { mood: 'good' },
    extensions: ['https://x.example/e'],
    referenceTaskIds: ['t-1'],
  })
  expect(in03.parts).toEqual([
    { text: 'one', bytes: 3, metadata: { lang: 'en' } },
    { raw: 'AAAA', bytes: 3, filename: 'a.png', mediaType: 'image/png' },
    { url: 'https://x.example/b', bytes: 19 },
    { data: { answer: 42 }, bytes: 13 },
  ])
})

test('several text parts are joined in order, and not repeated as parts', async () => {
  await post(send03({ parts: ['one', 'two', 'three'].map((text) => ({ kind: 'text', text })) }))
  await post(send03())

  const [several, one] = await inboxOf(grid, grid.bob)
  expect(several.message).toBe('one\ntwo\nthree')
  expect([several, one].map(({ parts }) => parts)).toEqual([undefined, undefined])
})

test.each([
  ['emoji and right-to-left text', '👩‍👩‍👧‍👦 שלום مرحبا', '👩‍👩‍👧‍👦 שלום مرحبا'],
  ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
])('a message with %s is delivered', async (_, text, arrived) => {
  await post(send10({ parts: [{ text }] }))

  expect((await inboxOf(grid, grid.bob)).map(({ message }) => message)).toEqual([arrived])
})

test.each([
  ['0.2 parts named by type', send03({ kind: undefined, parts: [{ type: 'text', text: 'hi' }] })],
  ['0.3 with the role of 1.0', send03({ role: 'ROLE_USER' })],
  ['1.0 with the role of 0.3', send10({ role: 'user' })],
  [
    'unknown fields everywhere',
    send10({ new: 1, parts: [{ text: 'hi', new: 1 }] }, { new: 1, configuration: { new: 1 } }),
  ],
  ['unset fields as null', send10({ contextId: null, taskId: null, extensions: null }, { configuration: null })],
  ['unset fields as ProtoJSON defaults', send10({ contextId: '', taskId: '', extensions: [] }, { tenant: '' })],
  ['no restriction of output modes', send03({}, { configuration: { blocking: true, acceptedOutputModes: [] } })],
  ['a call that does not wait (0.3)', send03({}, { configuration: { blocking: false, historyLength: 0 } })],
  ['a call that does not wait (1.0)', send10({}, { configuration: { returnImmediately: true } })],
])('a send is delivered: %s', async (_, body) => {
  const answer = await post(body)

  expect(answer.body).not.toHaveProperty('error')
  expect((await inboxOf(grid, grid.bob)).map(({ message }) => message)).toEqual(['hi'])
})

test('1.0 fields in snake_case are accepted', async () => {
  const message = {
    message_id: 'm-1',
    context_id: 'c-1',
    role: 'ROLE_USER',
    parts: [{ text: 'hi', media_type: 'text/x' }],
  }
  const { body } = await post(request('SendMessage', { message, metadata: { to: 'bob' } }))

  const [received] = await inboxOf(grid, grid.bob)
  expect(body.result.message.contextId).toBe('c-1')
  expect(received).toMatchObject({
    a2a: { messageId: 'm-1', contextId: 'c-1' },
    parts: [{ text: 'hi', mediaType: 'text/x' }],
  })
})

test("the client's context id is returned, and each message without one gets a new id", async () => {
  const kept = await post(send03({ contextId: 'my context' }))
  const made = await post(send03())
  const another = await post(send03())

  expect(kept.body.result.contextId).toBe('my context')
  expect(made.body.result.contextId).not.toBe(another.body.result.contextId)
  // The recipient sees the grid's conversation id, because two clients may use the same context id.
  const conversations = (await inboxOf(grid, grid.bob)).map((message) => message.conversation_id)
  expect(new Set(conversations).size).toBe(3)
  expect(conversations).not.toContain('my context')
})

test('messages with the same context id are one conversation per sender and recipient', async () => {
  const context = { contextId: 'shared' }
  for (const { key } of [grid.alice, grid.alice, grid.bob]) {
    await postA2a(grid, key, send03(context))
    await postA2a(grid, key, send10({ ...context, metadata: { to: 'alice' } }))
  }

  const ofBob = (await inboxOf(grid, grid.bob)).map((message) => message.conversation_id)
  const ofAlice = (await inboxOf(grid, grid.alice)).map((message) => message.conversation_id)
  expect([ofBob[0], ofAlice[0]]).toEqual([ofBob[1], ofAlice[1]])
  expect(new Set([...ofBob, ...ofAlice]).size).toBe(4)
})

function post(body: unknown, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers)
}
