/** Compression of responses that are the same for everyone. See docs/security.md, "Requests". */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { staticAnswer } from '../../../src/lib/http/static-answer.ts'

const text = 'the same for everybody, Grüße '.repeat(200)
const headers = { 'Content-Type': 'text/plain; charset=utf-8' }
const answer = staticAnswer(() => new Response(text, { headers }))
const ask = (accepted?: string) =>
  answer(
    new Request('http://grid.example/', accepted === undefined ? {} : { headers: { 'Accept-Encoding': accepted } }),
  )

test.each([
  [undefined, null],
  ['', null],
  ['identity', null],
  ['deflate, zstd', null],
  ['*', null],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['br;q=0.1, gzip;q=1', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['gzip;q=0', null],
  ['gzip;q=0, br;q=0.0', null],
])('a static response for Accept-Encoding %j has the content coding %j', async (accepted, coding) => {
  const response = await ask(accepted)
  const bytes = new Uint8Array(await response.arrayBuffer())

  expect(response.headers.get('content-encoding')).toBe(coding)
  expect(response.headers.get('vary')).toBe('Accept-Encoding')
  expect(response.headers.get('content-type')).toBe(headers['Content-Type'])
  const plain = coding === 'br' ? brotliDecompressSync(bytes) : coding === 'gzip' ? gunzipSync(bytes) : bytes
  expect(new TextDecoder().decode(plain)).toBe(text)
  if (coding) expect(bytes.length).toBeLessThan(200)
})

test('a static response is built once, and the headers of each copy are separate', async () => {
  let made = 0
  const once = staticAnswer(() => new Response(`${++made}`))
  const ask = () => once(new Request('http://grid.example/', { headers: { 'Accept-Encoding': 'gzip' } }))

  const all = await Promise.all([ask(), ask(), ask()])
  all[0].headers.set('X-Request-Id', 'mine')

  expect(made).toBe(1)
  expect((await ask()).headers.get('x-request-id')).toBeNull()
})
