/** The request of a signup: body, content type, method and credential. See docs/protocol/signup.md, "Errors". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { codeOf, signupPath } from '../support/signup.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '100' } })
})
afterEach(() => grid.close())

test.each([
  ['empty', ''],
  ['cut off', '{"alias":"zoe"'],
  ['no JSON', 'alias=zoe'],
  ['two values', '{} {}'],
  ['a list', '[]'],
  ['a text', '"zoe"'],
  ['null', 'null'],
  ['a number', '1e400'],
  ['with __proto__', '{"alias":"zoe","owner_email":"ann@owner.example","__proto__":{"x":1}}'],
  ['with an escaped __proto__', '{"alias":"zoe","owner_email":"ann@owner.example","\\u005f_proto__":{"x":1}}'],
  ['with constructor.prototype', '{"alias":"zoe","owner_email":"a@b.example","constructor":{"prototype":{"x":1}}}'],
  ['with __proto__ inside', '{"alias":"zoe","owner_email":"a@b.example","skills":[{"__proto__":{"x":1}}]}'],
  ['too deep', `{"alias":"zoe","owner_email":"a@b.example","x":${'['.repeat(8)}${']'.repeat(8)}}`],
  ['of too many values', `{"alias":"zoe","x":[${Array(501).fill(1)}]}`],
  ['deep enough to break a parser', '['.repeat(15_000)],
])('invalid_request: a body that is %s', async (_, body) => {
  const response = await postBody(body)

  expect(response.status).toBe(400)
  expect(await codeOf(response)).toBe('invalid_request')
  expect(({} as { x?: number }).x).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
})

test('invalid_request: a body that is not UTF-8', async () => {
  const response = await postBody(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]))

  expect([response.status, await codeOf(response)]).toEqual([400, 'invalid_request'])
})

test.each([[16 * 1024, 201], [16 * 1024 + 1, 413]])('a body of %i bytes is answered %i', async (size, status) => {
  const start = '{"alias":"zoe","owner_email":"ann@owner.example","x":"'
  const body = `${start}${'x'.repeat(size - start.length - 2)}"}`
  expect(body).toHaveLength(size)

  const declared = await postBody(body, { 'Content-Length': `${size}` })
  const streamed = await postBody(streamOf(body.replace('zoe', 'two')), {})

  expect([declared.status, streamed.status]).toEqual([status, status])
  if (status === 413) expect(await codeOf(declared)).toBe('payload_too_large')
})

test('a credential on signup changes nothing', async () => {
  const body = { alias: 'zoe', owner_email: 'ann@owner.example' }

  const response = await grid.post(signupPath, body, { Authorization: `Bearer ${grid.acme.adminKey}` })

  expect(response.status).toBe(201)
  expect(await grid.acme.store.read.agents.byAlias('zoe')).toBeUndefined()
})

function postBody(body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body, duplex: 'half' }
  return grid.request(signupPath, init)
}

function streamOf(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close()
      else controller.enqueue(bytes.subarray(at, at += 1_000))
    },
  })
}
