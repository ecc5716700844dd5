import { beforeEach, expect, test } from 'vitest'
import { inboxOf, postA2a, send03, send10 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test("a retry with the same Idempotency-Key stores no message, and gets the first response with the retry's own id", async () => {
  const key = { 'Idempotency-Key': 'k-1' }
  const first = await post(send03(), key)
  const repeat = await post({ ...send03(), id: 'again' }, key)

  expect(repeat.body).toEqual({ ...first.body, id: 'again' })
  expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
})

test('a different request with the same Idempotency-Key gets a conflict', async () => {
  const key = { 'Idempotency-Key': 'k-1' }
  await post(send03(), key)

  for (const body of [send03({ messageId: 'other' }), send03({ contextId: 'c' }), send10()]) {
    expect((await post(body, key)).body.error).toMatchObject({
      code: -32602,
      data: [{ reason: 'IDEMPOTENCY_CONFLICT', domain: 'localhost' }],
    })
  }
  expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
})

test('with the extension, the messageId is the idempotency key unless a header states a different key', async () => {
  const uri = 'http://localhost:8787/a2a/ext/idempotency/v1'
  const headers = { 'A2A-Extensions': uri }
  const first = await post(send10(), headers)
  const again = await post(send10(), headers)
  const withKey = await post(send10(), { ...headers, 'Idempotency-Key': 'k-1' })

  expect(again.body).toEqual(first.body)
  expect(again.headers.get('a2a-extensions')).toBe(uri)
  expect(withKey.body.result.message.messageId).not.toBe(first.body.result.message.messageId)
  expect(await inboxOf(grid, grid.bob)).toHaveLength(2)
})

test('a refused send does not use up its Idempotency-Key', async () => {
  const key = { 'Idempotency-Key': 'k-1' }
  await post(send03({ metadata: { to: 'nobody' } }), key)

  expect((await post(send03(), key)).body.result.kind).toBe('message')
})

test('an Idempotency-Key of 201 characters is invalid', async () => {
  const { body } = await post(send03(), { 'Idempotency-Key': 'k'.repeat(201) })

  expect(body.error.code).toBe(-32602)
})

test('without an idempotency key, two sends with the same messageId create two messages', async () => {
  await post(send03())
  await post(send03())

  expect(await inboxOf(grid, grid.bob)).toHaveLength(2)
})

function post(body: unknown, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers)
}
