import { beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { errorInfo, inboxOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { updateTrial } from '../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { guard, secret } from '../support/guarded.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test.each([
  ['a file', send03({ parts: [{ kind: 'file', file: { bytes: 'AAAA' } }] })],
  ['data', send10({ parts: [{ data: [1] }] })],
])('a message of only %s is refused because it has no text', async (_, body) => {
  const answer = await post(body)

  expect(answer.status).toBe(200)
  expect(answer.body.error).toEqual({
    code: -32005,
    message: 'No text content in message parts',
    data: [errorInfo('CONTENT_TYPE_NOT_SUPPORTED', 'a2a-protocol.org')],
  })
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

test.each([
  ['no params', undefined, 'params'],
  ['a message that is text', { message: 'hi' }, 'message'],
  ['parts that are text, else complete', params({ parts: 'invalid' }), 'message.parts'],
  ['no parts', params({ parts: [] }), 'message.parts'],
  ['a part that is text', params({ parts: ['hi'] }), 'message.parts[0]'],
  ['a part without content', params({ parts: [{ kind: 'text' }] }), 'message.parts[0]'],
  ['a part with two contents', params({ parts: [{ text: 'a', data: {} }] }), 'message.parts[0]'],
  ['a part of an unknown kind', params({ parts: [{ kind: 'video', text: 'a' }] }), 'message.parts[0].kind'],
  ['a text that is a number', params({ parts: [{ kind: 'text', text: 1 }] }), 'message.parts[0].text'],
  ['a text with U+0000', params({ parts: [{ kind: 'text', text: 'a\0b' }] }), 'message.parts[0].text'],
  ['a file without content', params({ parts: [{ kind: 'file', file: {} }] }), 'message.parts[0].file'],
  ['no messageId', params({ messageId: undefined }), 'message.messageId'],
  ['a contextId of 257 characters', params({ contextId: 'x'.repeat(257) }), 'message.contextId'],
  ['a contextId that is not Unicode', params({ contextId: '\ud800' }), 'message.contextId'],
  ['no role', params({ role: undefined }), 'message.role'],
  ['a role that is no text', params({ role: { toString: 1 } }), 'message.role'],
  ['the role of an agent', params({ role: 'agent' }), 'message.role'],
  ['another kind of object', params({ kind: 'task' }), 'message.kind'],
  ['metadata that is text', params({ metadata: 'bob' }), 'message.metadata'],
  ['extensions that are not strings', params({ extensions: [1] }), 'message.extensions'],
  ['a fractional historyLength', { ...params(), configuration: { historyLength: 1.5 } }, 'configuration.historyLength'],
  ['blocking that is text', { ...params(), configuration: { blocking: 'no' } }, 'configuration.blocking'],
])('a send with %s gets -32602 with the name of the field', async (_, given, field) => {
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

test('a send to an unknown task gets -32001, with or without a recipient', async () => {
  const named = await post(send10({ taskId: 't-1' }))
  const unnamed = await post(send10({ taskId: 't-1', metadata: undefined }))

  expect(named.body.error).toEqual({
    code: -32001,
    message: expect.any(String),
    data: [errorInfo('TASK_NOT_FOUND', 'a2a-protocol.org', { taskId: 't-1' })],
  })
  expect(unnamed.body).toEqual(named.body)
})

test('only the first error is reported, in the order shape, missing recipient, unknown recipient, task, text, push', async () => {
  const push = { configuration: { pushNotificationConfig: { url: 'https://10.0.0.1' } } }
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
  ) {
    const [{ reason, fieldViolations }] = (await post(body)).body.error.data
    codes.push(reason ?? fieldViolations[0].field)
  }

  expect(codes).toEqual([
    'message.messageId',
    'RECIPIENT_REQUIRED',
    'RECIPIENT_NOT_FOUND',
    'TASK_NOT_FOUND',
    'CONTENT_TYPE_NOT_SUPPORTED',
    'configuration.pushNotificationConfig.url',
  ])
})

test("a trial's 11th message is refused and changes nothing", async () => {
  await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: grid.clock.now + 1_000 })
  for (let n = 1; n <= 10; n++) await post(send03())

  const { status, body } = await post(send03())

  expect(status).toBe(200)
  expect(body.error).toMatchObject({
    code: -32051,
    message: expect.stringContaining('10 of 10 messages'),
    data: [{ reason: 'TRIAL_EXHAUSTED', domain: 'localhost' }],
  })
  expect(await inboxOf(grid, grid.bob)).toHaveLength(10)
  expect((await post(request('ListTasks'))).body.result.totalSize).toBe(10)
})

test('a message blocked by a guardrail is refused over both bindings, and nothing is stored', async () => {
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'block' })
  const blocked = send10({ parts: [{ text: `a ${secret}` }] })

  const { body } = await post(blocked)
  const overHttp = await grid.post('/a2a/v1/grid/message:send', blocked.params, {
    Authorization: `Bearer ${grid.alice.key}`,
  })

  expect(body.error).toMatchObject({ code: -32052, data: [{ reason: 'GUARDRAIL_BLOCKED', domain: 'localhost' }] })
  expect(overHttp.status).toBe(403)
  expect((await overHttp.json()).error).toMatchObject({ code: 403, status: 'PERMISSION_DENIED' })
  expect(await inboxOf(grid, grid.bob)).toEqual([])
  expect((await post(request('ListTasks'))).body.result.totalSize).toBe(0)
})

test('a refused message changes no task of its sender or recipient', async () => {
  const { id } = (await post(send10({}, { configuration: { returnImmediately: true } }))).body.result.task
  const bob = storeOf(grid, grid.bob)
  await updateTask(bob, { taskId: id, state: 'input-required', text: 'Which?' })
  const before = (await post(request('GetTask', { id }))).body
  const ended = { used: 10, max: 10, expiresAt: grid.clock.now + 1_000 }
  await updateTrial(grid, grid.alice, ended)
  await updateTrial(grid, grid.bob, ended)

  expect((await post(send10({ taskId: id, metadata: undefined }))).body.error.code).toBe(-32051)
  for (const update of [{ text: 'done' }, { state: 'failed' as const, text: 'No.' }]) {
    await expect(updateTask(bob, { taskId: id, ...update })).rejects.toThrow('10 of 10 messages')
  }
  expect((await post(request('GetTask', { id }))).body).toEqual(before)
})

function post(body: unknown, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers)
}

/** Returns valid params of a 0.3 send, in which these message fields replace the defaults. */
function params(message: Record<string, unknown> = {}) {
  return send03(message).params as Record<string, unknown>
}
