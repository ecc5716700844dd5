/**
 * Calls of the grid pass the edge without a look at the routes. They get the same answers as over the routes, which serve
 * the same URL with an empty query.
 */
import fc from 'fast-check'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { maxWaitSeconds } from '../src/grid/messaging/wait-for-messages.ts'
import { type Era, eras, gridPath, wireRequest } from './support/mcp.ts'
import { type LiveGrid, liveGrid } from './support/server.ts'
import { waitFor } from './support/wait-for.ts'

const routed = `${gridPath}?`

let grid: LiveGrid
beforeAll(async () => {
  grid = await liveGrid({ env: { CALLS_PER_SECOND: '0' } })
})
afterAll(() => grid.close())

/** What a request can be, apart from its path. */
interface Kind {
  method: string
  key: 'agent' | 'admin' | 'wrong' | 'malformed' | 'none'
  host: 'own' | 'foreign' | 'none'
  origin: 'none' | 'own' | 'foreign'
  type: string | undefined
  era: Era
  body: keyof typeof bodies
  framing: 'length' | 'chunked' | 'continue' | 'http/1.0' | 'cut off' | 'too long'
}

const bodies = {
  list: { method: 'tools/list' },
  ping: { method: 'ping' },
  read: { method: 'tools/call', params: { name: 'read_messages', arguments: {} } },
  agents: { method: 'tools/call', params: { name: 'list_agents', arguments: {} } },
  'wrong arguments': { method: 'tools/call', params: { name: 'send_message', arguments: { to: 7 } } },
  'unknown tool': { method: 'tools/call', params: { name: 'none' } },
  'unknown method': { method: 'none' },
  batch: '[]',
  empty: '',
  'no JSON': '{"jsonrpc"',
  'not UTF-8': '\xff',
  large: `"${'x'.repeat(300_000)}"`,
  deep: '['.repeat(100),
}

const kind = fc.record<Kind>({
  method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'OPTIONS', 'PUT', 'HEAD'),
  key: fc.constantFrom('agent', 'agent', 'admin', 'wrong', 'malformed', 'none'),
  host: fc.constantFrom('own', 'own', 'own', 'foreign', 'none'),
  origin: fc.constantFrom('none', 'none', 'own', 'foreign'),
  type: fc.constantFrom(
    'application/json',
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    undefined,
  ),
  era: fc.constantFrom(...eras),
  body: fc.constantFrom(...Object.keys(bodies) as (keyof typeof bodies)[]),
  framing: fc.constantFrom('length', 'length', 'chunked', 'continue', 'http/1.0', 'cut off', 'too long'),
})

const good: Kind = {
  method: 'POST',
  key: 'agent',
  host: 'own',
  origin: 'none',
  type: 'application/json',
  era: 'legacy',
  body: 'list',
  framing: 'length',
}

test.each(eras)('%s: each way to be wrong gets the same answer', async (era) => {
  const changes: { [Name in keyof Kind]?: Kind[Name][] } = {
    method: ['GET', 'OPTIONS', 'PUT', 'HEAD'],
    key: ['admin', 'wrong', 'malformed', 'none'],
    host: ['foreign', 'none'],
    origin: ['own', 'foreign'],
    type: ['application/json; charset=utf-8', 'text/plain', undefined],
    body: Object.keys(bodies) as (keyof typeof bodies)[],
    framing: ['chunked', 'continue', 'http/1.0', 'cut off', 'too long'],
  }
  const kinds = Object.entries(changes).flatMap(([name, values]) =>
    values.map((value) => ({ ...good, era, [name]: value }))
  )
  const statuses = new Set<string>()
  for (const one of [{ ...good, era }, ...kinds]) statuses.add((await answeredAlike([one])).slice(0, 12))

  expect([...statuses]).toEqual(
    expect.arrayContaining([200, 400, 401, 403, 405, 413, 421].map((status) => `HTTP/1.1 ${status}`)),
  )
})

test('generated requests, up to four on a connection at once, get the same answers', async () => {
  // Alone are streams, which end only with their connection, and what ends the connection before others are answered.
  const ending = ['http/1.0', 'cut off', 'too long']
  const sharing = kind.filter(({ method, host, framing }) =>
    method !== 'GET' && host !== 'none' && !ending.includes(framing)
  )
  const several = fc.array(sharing, { minLength: 2, maxLength: 4 })
  const one = fc.tuple(kind)
  await fc.assert(
    fc.asyncProperty(fc.oneof(one, several), async (kinds) => void await answeredAlike(kinds)),
    { numRuns: 150 },
  )
})

test('streams begin alike', async () => {
  const { headers, body } = wireRequest('modern', 'subscriptions/listen', { notifications: {} })
  const listen = await Promise.all([gridPath, routed].map(async (path) => {
    const socket = connect(Number(new URL(grid.url).port), '127.0.0.1')
    socket.write(requestBytes(path, { ...headers, Authorization: `Bearer ${grid.alice.key}` }, JSON.stringify(body)))
    const text = await textUntil(socket.setEncoding('utf8'), 'event: ')
    socket.destroy()
    return comparable(text)
  }))

  expect(listen[0]).toBe(listen[1])
  expect(listen[0]).toContain('text/event-stream')
})

test('a request whose client leaves ends its wait on both ways', async () => {
  const params = { name: 'read_messages', arguments: { wait_seconds: maxWaitSeconds } }
  const { headers, body } = wireRequest('legacy', 'tools/call', params)
  for (const path of [gridPath, routed]) {
    const socket = connect(Number(new URL(grid.url).port), '127.0.0.1')
    socket.write(requestBytes(path, { ...headers, Authorization: `Bearer ${grid.bob.key}` }, JSON.stringify(body)))
    await waitFor('the wait', () => grid.store.waiting.reads.count === 1)
    socket.destroy()
    await waitFor('its end', () => grid.store.waiting.reads.count === 0)
  }
})

test('an overloaded process refuses alike', async () => {
  const { overload } = grid.deps
  for (let sample = 0; sample < 4; sample++) {
    overload.report(60_000)
    overload.sample()
  }
  const refused = await answeredAlike([good])
  for (let sample = 0; sample < 4; sample++) overload.sample()

  expect(refused).toMatch(/^HTTP\/1.1 503 /)
  expect(await answeredAlike([good])).toMatch(/^HTTP\/1.1 200 /)
})

/** Send these requests over one connection each way. Returns what came back, if it is the same. */
async function answeredAlike(kinds: Kind[]): Promise<string> {
  // Refused keys of an address are answered as often as a minute allows.
  grid.clock.now += 5_000
  const direct = await answersTo(gridPath, kinds)
  expect(direct).toBe(await answersTo(routed, kinds))
  return direct
}

async function answersTo(path: string, kinds: Kind[]): Promise<string> {
  const socket = connect(Number(new URL(grid.url).port), '127.0.0.1')
  // The last request closes the connection; one that cannot be read does so earlier.
  for (const [i, one] of kinds.entries()) socket.write(wireBytes(path, one, i === kinds.length - 1), 'latin1')
  if (kinds.some(({ framing }) => framing === 'cut off')) socket.end()
  let text = ''
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('data', (part) => {
    text += part
    // A stream goes on until its client leaves.
    const [begun] = text.match(/^[^]*content-type: text\/event-stream\r\n[^]*?\r\n\r\n/i) ?? []
    if (begun === undefined) return
    text = begun
    socket.removeAllListeners('data').destroy()
  })
  await new Promise((resolve) => socket.once('close', resolve))
  await waitFor('the end of streams', () => grid.store.waiting.streams.count === 0)
  return comparable(text)
}

function wireBytes(
  path: string,
  { method, key, host, origin, type, era, body, framing }: Kind,
  isLast: boolean,
): string {
  const given: string | { method: string; params?: object } = bodies[body]
  const wire = typeof given === 'string'
    ? { headers: wireRequest(era, 'none').headers, body: given }
    : wireRequest(era, given.method, given.params as Record<string, unknown>)
  const text = typeof wire.body === 'string' ? wire.body : JSON.stringify(wire.body)
  const keys = {
    agent: grid.alice.key,
    admin: grid.acme.adminKey,
    wrong: `${grid.alice.key.slice(0, -1)}_`,
    malformed: 'x',
  }
  const origins = { own: grid.url, foreign: 'https://evil.example' }
  const headers: Record<string, string | undefined> = {
    ...wire.headers,
    'Content-Type': type,
    Host: { own: new URL(grid.url).host, foreign: 'evil.example', none: undefined }[host],
    Authorization: key === 'none' ? undefined : `Bearer ${keys[key]}`,
    Origin: origin === 'none' ? undefined : origins[origin],
    Connection: isLast || framing === 'http/1.0' ? 'close' : undefined,
    Expect: framing === 'continue' ? '100-continue' : undefined,
    ...(framing === 'chunked'
      ? { 'Transfer-Encoding': 'chunked' }
      : { 'Content-Length': `${text.length + (framing === 'cut off' ? 1 : 0)}` }),
  }
  const lines = Object.entries(headers).filter(([, value]) => value !== undefined).map(([name, value]) =>
    `${name}: ${value}`
  )
  const version = framing === 'http/1.0' ? 'HTTP/1.0' : 'HTTP/1.1'
  const content = framing === 'chunked'
    ? `${text && `${text.length.toString(16)}\r\n${text}\r\n`}0\r\n\r\n`
    : framing === 'too long'
    ? `${text}x`
    : text
  return `${[`${method} ${path} ${version}`, ...lines, '', ''].join('\r\n')}${content}`
}

function requestBytes(path: string, headers: Record<string, string>, body: string): string {
  const all = { ...headers, Host: new URL(grid.url).host, 'Content-Length': `${body.length}` }
  return [`POST ${path} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`), '', body].join(
    '\r\n',
  )
}

/** What a server sends, until it contains `end` or the connection is closed. */
async function textUntil(parts: AsyncIterable<string>, end: string): Promise<string> {
  let text = ''
  for await (const part of parts) {
    text += part
    if (text.includes(end)) break
  }
  return text
}

/** Without what differs between any two answers. */
function comparable(text: string): string {
  return text.replace(/^(x-request-id|date): .*$/gim, '$1').replace(/"(?:requestId|last_seen)":"[^"]*"/g, '')
}
