/**
 * What a real peer or an official suite of A2A notices, as a list of numbers: sends and envelopes. The rest is in
 * `checklist-tasks.test.ts`; 15 (push) and 19 (outbound) are not built, 17 (cards) is in `cards/`.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { updateTrial } from '../support/database.ts'
import { endpoint, endpointOf, inboxOf, postA2a, request, send03, send10, storeOf } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

/** Both endpoints, with and without the slash at the end. */
const endpoints = [endpoint, `${endpoint}/`, '/a2a/v1/agents/bob', '/a2a/v1/agents/bob/']

test.each(endpoints)('1: %s takes the version in the header or the query, whatever its patch', async (path) => {
  for (const version of ['1.0', '1.0.1', '0.3', '0.3.0', '', ' 1.0 ']) {
    expect((await post(send10(), path, { 'A2A-Version': version })).body).toHaveProperty('result')
  }
  expect((await post(send10(), `${path}?A2A-Version=1.0`)).body).toHaveProperty('result')
  expect((await post(send10(), path, { 'A2A-Version': '99.0' })).body.error.code).toBe(-32009)
})

test('2: the send of the specification is delivered to the alias in any spelling, and to oneself', async () => {
  for (const to of ['@bob', 'bob', 'BOB', ' @Bob ']) {
    expect((await post(send03({ metadata: { to } }))).body.result).toMatchObject({ kind: 'message', role: 'agent' })
  }
  expect((await post(send03({ metadata: { to: '@alice' } }))).body.result.kind).toBe('message')
  for (const to of ['@nobody', '@eve']) {
    expect((await post(send03({ metadata: { to } }))).body.error.message).toBe(`Agent '${to}' not found`)
  }
  expect(await inboxOf(grid, grid.bob)).toHaveLength(4)
})

test('3: a text without recipient is -32000 with the words, and a recipient of another type -32602', async () => {
  for (const metadata of [undefined, null, { to: '' }, { to: null }]) {
    const { error } = (await post(send03({ metadata }))).body
    expect(error.code).toBe(-32000)
    expect(error.message).toContain("'to'")
    expect(error.message).toContain('message.metadata')
  }
  expect((await post(send03({ metadata: { to: 123 } }))).body.error.code).toBe(-32602)
  expect((await post(send03({ metadata: undefined }, { metadata: { to: 'bob' } }))).body.result.kind).toBe('message')
})

test('4: only files or data have no text, and text beside them is joined and delivered', async () => {
  const file = { kind: 'file', file: { bytes: 'AAAA' } }
  for (const parts of [[file], [{ kind: 'data', data: {} }]]) {
    expect((await post(send03({ parts }))).body.error).toMatchObject({
      code: -32005,
      message: 'No text content in message parts',
    })
  }
  expect((await post(send03({ parts: [] }))).body.error.code).toBe(-32602)
  await post(send03({ parts: [{ kind: 'text', text: 'a' }, file, { kind: 'text', text: 'b' }] }))

  expect(await inboxOf(grid, grid.bob)).toMatchObject([{ message: 'a\nb', a2a: { parts: [{}, { raw: 'AAAA' }, {}] } }])
})

test.each(endpoints)('5: %s repeats the id, and takes any text', async (path) => {
  for (const id of ['text', 0, null, 1.5]) expect((await post({ ...send03(), id }, path)).body).toMatchObject({ id })
  expect((await post({ ...send03(), id: undefined }, path)).body).toMatchObject({ id: null })
  expect((await post({ ...send03(), id: {} }, path)).body).toMatchObject({ id: null, error: { code: -32600 } })
  expect((await post(request('message/send', []), path)).body.error.code).toBe(-32602)
  expect((await post(send03({ extra: 1 }, { extra: 1 }), path)).body).toHaveProperty('result')
  const texts: [string, number | undefined][] = [
    ['👩‍👩‍👧‍👦 שלום', undefined],
    ['a\0b', -32602],
    ['x'.repeat(10_001), -32602],
  ]
  for (const [text, code] of texts) {
    expect((await post(send03({ parts: [{ kind: 'text', text }] }), path)).body.error?.code).toBe(code)
  }
  const huge = send03({ parts: [{ kind: 'text', text: 'x'.repeat(1_000_000) }] })
  const answer = await post(huge, path)
  expect(answer.status === 413 || answer.body.error.code === -32602).toBe(true)
})

test.each(endpoints)('6: %s: unknown methods are -32601, empty params -32602', async (path) => {
  for (const method of ['no/such', 'tasks/send']) {
    expect((await post(request(method, {}), path)).body.error.code).toBe(-32601)
  }
  expect((await post(request('message/send', {}), path)).body.error.code).toBe(-32602)
})

test.each(endpoints)('7: %s: every POST needs the key of an agent', async (path) => {
  for (const key of [undefined, 'nonsense', grid.acme.adminKey]) {
    for (const body of [send03(), request('GetTask', { id: 't' }), request('no/such'), 'no JSON']) {
      const { status, headers } = await postA2a(grid, key, body, {}, path)
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toMatch(/^Bearer realm=/)
    }
  }
})

test.each(endpoints)(
  '8: %s: errors are 200 with JSON, and a wrong media type comes before a wrong body',
  async (path) => {
    const plain = await post('no JSON', path, { 'Content-Type': 'text/plain' })
    const broken = await post('no JSON', path)

    expect([plain.status, plain.body.error.code]).toEqual([200, -32005])
    expect([broken.status, broken.body.error.code]).toEqual([200, -32700])
    expect(plain.headers.get('content-type')).toBe('application/json')
  },
)

test.each(endpoints)('9: %s: 1.0 has neither kinds nor snake case nor empty members, 0.3 has kinds', async (path) => {
  const in10 = await post(send10(), path)
  const in03 = await post(send03(), path)

  expect(JSON.stringify(in10.body.result)).not.toMatch(/"kind"|"[a-z]+_[a-z_]+":|:(?:""|null|\[\]|\{\})/)
  expect(in03.body.result.kind).toMatch(/^(?:message|task)$/)
})

test('20: a trial that is used up and a guardrail refuse without a trace', async () => {
  await updateTrial(grid, grid.alice, { used: 10, max: 10, expiresAt: grid.clock.now + 1_000 })

  for (const path of endpoints) {
    expect((await post(send03(), path)).body.error).toMatchObject({
      code: -32051,
      data: [{ reason: 'TRIAL_EXHAUSTED' }],
    })
  }
  expect(await inboxOf(grid, grid.bob)).toEqual([])
  expect((await post(request('ListTasks'))).body.result.tasks).toEqual([])
})

test('20: a message that is refused changes no task, neither of its sender nor of its recipient', async () => {
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

test.each([endpoint, '/a2a/v1/agents/bob'])('21: %s: one key is one message and one answer', async (path) => {
  const key = { 'Idempotency-Key': 'k-1' }
  const first = await post(send10(), path, key)
  const again = await post({ ...send10(), id: 'again' }, path, key)
  const other = await post(send10({ messageId: 'm-2' }), path, key)

  expect(again.body).toEqual({ ...first.body, id: 'again' })
  expect(other.body.error).toMatchObject({ code: -32602, data: [{ reason: 'IDEMPOTENCY_CONFLICT' }] })
  expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
  await post(send10(), path)
  await post(send10(), path)
  expect(await inboxOf(grid, grid.bob)).toHaveLength(2)
})

test('21: with the extension the id of the message is its key, with the header that', async () => {
  const uri = 'http://localhost:8787/a2a/ext/idempotency/v1'
  const headers = { 'A2A-Extensions': uri }
  const path = endpointOf(grid.bob)
  const first = await post(send10(), path, headers)
  const again = await post(send10(), path, headers)
  const withHeader = await post(send10(), path, { ...headers, 'Idempotency-Key': 'k-1' })

  expect(again.body).toEqual(first.body)
  expect(again.headers.get('a2a-extensions')).toBe(uri)
  expect(withHeader.body.result.task.id).not.toBe(first.body.result.task.id)
  expect(await inboxOf(grid, grid.bob)).toHaveLength(2)
})

test('22: plain receipts have the four fields alone', async () => {
  await grid.close()
  grid = await testGrid({ env: { A2A_PLAIN_RECEIPTS: '1' } })
  const { result } = (await post(send03({ contextId: 'c' }))).body

  expect(result).toEqual({
    kind: 'message',
    role: 'agent',
    messageId: (await inboxOf(grid, grid.bob))[0].message_id,
    parts: [{ kind: 'text', text: 'Message delivered to @bob' }],
  })
})

function post(body: unknown, path: string = endpoint, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers, path)
}
