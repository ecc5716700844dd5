/** Request bodies (docs/security.md, "Requests"). */
import { expect, test } from 'vitest'
import { apiLimits, Bodies, type BodyLimits, parseAnswer, parseBody } from '../../../src/lib/http/body.ts'

const bodies = new Bodies(1_048_576)

/** Reads a body like the edge, which releases the body afterwards. */
const readText = (request: Request, limits: BodyLimits) =>
  bodies.readText(request, limits).finally(() => bodies.release(request))

const limits = { maxBytes: 100, maxDepth: 4, maxTokens: 5 }

test.each([[100, 'ok'], [101, 'payload_too_large']])(
  'a body of %i bytes is read, with or without Content-Length: %s',
  async (size, outcome) => {
    const text = 'x'.repeat(size)

    expect(await read(text, { 'Content-Length': `${size}` })).toBe(outcome)
    expect(await read(text, {})).toBe(outcome)
    expect(await read(text, { 'Content-Length': '1' })).toBe(outcome)
    expect(await read(text, { 'Content-Length': 'x' })).toBe(outcome)
    expect(await read(text, { 'Content-Length': `${size}`, 'Transfer-Encoding': 'chunked' })).toBe(outcome)
  },
)

test('the limit of a body counts bytes, not characters', async () => {
  expect(await read('ü'.repeat(50), {})).toBe('ok')
  expect(await read('ü'.repeat(51), {})).toBe('payload_too_large')
})

test('reading an endless body stops at the limit', async () => {
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      sent += 10
      controller.enqueue(new Uint8Array(10))
    },
  })
  const init = { method: 'POST', body, duplex: 'half' }

  await expect(readText(new Request('http://localhost', init), limits)).rejects.toMatchObject({
    code: 'payload_too_large',
  })
  expect(sent).toBeLessThan(300)
})

test.each([[100, 1, 'ok'], [101, 1, 'invalid_request'], [101, 63, 'invalid_request'], [200, 64, 'ok']])(
  'a body in %i chunks of %i bytes is read: %s',
  async (chunks, bytes, outcome) => {
    let made = 0
    const body = new ReadableStream({
      pull: (controller) => made++ < chunks ? controller.enqueue(new Uint8Array(bytes)) : controller.close(),
    })
    const request = new Request('http://localhost', { method: 'POST', body, duplex: 'half' } as RequestInit)

    const read = readText(request, { ...limits, maxBytes: 20_000 }).then(() => 'ok', ({ code }) => code)
    expect(await read).toBe(outcome)
  },
)

test('a body that is not UTF-8 is refused, and an empty one is accepted', async () => {
  const invalid = new Request('http://localhost', { method: 'POST', body: new Uint8Array([0x61, 0xc3, 0x28]) })

  const cut = new Request('http://localhost', { method: 'POST', body: new Uint8Array([0x61, 0xe2, 0x82]) })
  const good = new Request('http://localhost', { method: 'POST', body: '€' })

  await expect(readText(invalid, limits)).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(readText(cut, limits)).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await readText(good, limits)).toBe('€')
  expect(await readText(new Request('http://localhost', { method: 'POST' }), limits)).toBe('')
})

test.each<[string, unknown]>([
  ['{"a":[1,{"b":"c"}]}', { a: [1, { b: 'c' }] }],
  ['[[[[]]]]', [[[[]]]]],
  ['[1,2,3,4,5,6]', [1, 2, 3, 4, 5, 6]],
  [`{"${'n'.repeat(1_000)}":1}`, { ['n'.repeat(1_000)]: 1 }],
  [`["${'"a":1'.replaceAll('"', '\\"')}${'x'.repeat(2_000)}"]`, [`"a":1${'x'.repeat(2_000)}`]],
  ['"[[[[[[[["', '[[[[[[[['],
  ['"a,b,c,d,e,f,g,h"', 'a,b,c,d,e,f,g,h'],
  ['{"prototype":1,"constructor":"x"}', { prototype: 1, constructor: 'x' }],
])('the JSON body %s is parsed', (text, value) => {
  expect(parseBody(text, limits)).toEqual(value)
})

test.each([
  ['[[[[[]]]]]', 'invalid_request', 'The JSON is nested deeper than 4.'],
  ['[1,2,3,4,5,6,7]', 'invalid_request', 'The JSON has more than 5 values.'],
  [`{"a":["x"],"${'n'.repeat(1_001)}":1}`, 'invalid_request', 'The JSON has a name of more than 1000 characters.'],
  ['', 'malformed_json', 'The body is not valid JSON.'],
  ['{', 'malformed_json', 'The body is not valid JSON.'],
  ['{"__proto__":{"x":1}}', 'malformed_json', 'The body is not valid JSON.'],
  ['{"\\u005f_proto_\\u005f":{"x":1}}', 'malformed_json', 'The body is not valid JSON.'],
  ['{"constructor":{"prototype":{"x":1}}}', 'malformed_json', 'The body is not valid JSON.'],
])('the JSON body %s is refused as %s', (text, code, message) => {
  expect(() => parseBody(text, limits)).toThrow(expect.objectContaining({ code, message }))
  expect(({} as { x?: number }).x).toBeUndefined()
})

test.each([
  ['depth 10^6', '['.repeat(1_000_000)],
  ['closed depth 10^6', '['.repeat(500_000) + ']'.repeat(500_000)],
  ['200,000 members', `{${Array.from({ length: 200_000 }, (_, n) => `"k${n}":1`)}}`],
  ['one long text', `"${'x'.repeat(2_000_000)}`],
  ['many escapes', `"${'\\'.repeat(2_000_001)}`],
])('a body that would be expensive to parse is refused quickly: %s', (_, text) => {
  const startedAt = performance.now()

  expect(() => parseBody(text, apiLimits)).toThrow()
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

function read(text: string, headers: Record<string, string>): Promise<string> {
  const request = new Request('http://localhost', { method: 'POST', body: text, headers })
  return readText(request, limits).then((read) => read === text ? 'ok' : 'other', (error) => error.code)
}

test.each([
  ['{"data":{"ids":[1,1915883588174806058]}}', 'data.ids.1'],
  ['{"a":[{"b":"x,]"},{"c\\"d":-9007199254740993}]}', 'a.1.c"d'],
  ['{"first":{"x":1},"big":1e400}', 'big'],
  ['[[],-1e999]', '1'],
  ['9007199254740993', 'The body'],
])('the body %s is refused with the path of its imprecise number', (text, path) => {
  expect(() => parseBody(text, apiLimits)).toThrow(`${path} has more digits than a number keeps. Send it as text.`)
})

test.each<[string, unknown]>([
  ['[9007199254740991,-9007199254740991,9007199254740992,1e300,100000000000000000000]', [
    9007199254740991,
    -9007199254740991,
    9007199254740992,
    1e300,
    1e20,
  ]],
  ['[3.14159265358979323846,0.1,1E+2,-0,"1915883588174806058"]', [Math.PI, 0.1, 100, -0, '1915883588174806058']],
])('the numbers of the body %s are kept', (text, value) => {
  expect(parseBody(text, apiLimits)).toEqual(value)
})

test('numbers of a remote response that would lose precision become text', () => {
  const answer = '{"id":-1915883588174806058,"list":[1,1e400,2.5,"9007199254740993"]}'

  expect(parseAnswer(answer, apiLimits).value).toEqual({
    id: '-1915883588174806058',
    list: [1, '1e400', 2.5, '9007199254740993'],
  })
})
