/**
 * Results of reads fit into what coding clients show, because these truncate longer ones. See docs/protocol/mcp.md,
 * "read_messages".
 */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { maxAnswerBytes } from '../../src/grid/messaging/inbox-message.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

interface Read {
  bytes: number
  messages: { message_id: string; message: string; redelivered?: true }[]
  has_more?: true
  unread?: number
  cursor: string
}

async function read(args: Record<string, unknown> = {}): Promise<Read> {
  const { body } = await mcp(grid, grid.bob.key, 'tools/call', { name: 'read_messages', arguments: args })
  const { text } = body.result.content[0]
  return { bytes: Buffer.byteLength(text), ...JSON.parse(text) }
}

async function send(message: string, { key }: TestAgent = grid.alice, more: Record<string, unknown> = {}) {
  const { code } = await callTool(grid, key, 'send_message', { to: '@bob', message, ...more })
  expect(code).toBeUndefined()
}

async function sendMany(count: number, textOf: (n: number) => string): Promise<string[]> {
  const texts = Array.from({ length: count }, (_, n) => textOf(n))
  for (const text of texts) await send(text)
  return texts
}

const long = (n: number) => `word-${n} `.padEnd(1_600, 'x')

test('50 messages of 1,600 characters arrive once each, in results that clients show completely', async () => {
  const sent = await sendMany(50, long)

  const reads = [await read()]
  while (reads.at(-1)!.has_more) reads.push(await read())

  expect(reads.flatMap(({ messages }) => messages.map(({ message }) => message))).toEqual(sent)
  expect(reads.map(({ bytes }) => bytes <= maxAnswerBytes)).toEqual(reads.map(() => true))
  expect(reads.length).toBeLessThanOrEqual(4)
  expect(reads[0].unread).toBe(50 - reads[0].messages.length)
  expect(JSON.stringify(reads)).not.toContain('redelivered')
})

test('in a result, has_more and unread precede the messages', async () => {
  await sendMany(25, long)

  const { body } = await mcp(grid, grid.bob.key, 'tools/call', { name: 'read_messages', arguments: {} })

  expect(body.result.content[0].text).toMatch(/^{"has_more":true,"unread":\d+,"messages":\[/)
})

test('read_messages returns longer results if max_chars is given', async () => {
  await sendMany(25, long)

  const { messages, bytes } = await read({ max_chars: 80_000 })

  expect(messages).toHaveLength(25)
  expect(bytes).toBeGreaterThan(maxAnswerBytes)
})

test('a message longer than the usual maximum of a result is returned alone and complete', async () => {
  const text = '文'.repeat(10_000)
  await send(text)
  await send('next')

  const { messages, has_more } = await read()

  expect([messages.map(({ message }) => message), has_more]).toEqual([[text], true])
})

test.each([
  ['quotes', () => '"\\'.repeat(2_000)],
  ['line ends of Unicode', () => '\u2028'.repeat(3_000)],
  ['three bytes a character', () => '文'.repeat(3_000)],
  ['surrogate pairs', () => '😀'.repeat(2_000)],
  ['short ones', (n: number) => `${n}`],
])('no result of read_messages is too long: %s', async (_, textOf) => {
  await sendMany(12, textOf)

  for (const args of [{ peek: true }, { since: '1h' }, { since: 'last:12' }, {}]) {
    expect((await read(args)).bytes).toBeLessThanOrEqual(maxAnswerBytes)
  }
})

test('no result of read_messages is too long because of message fields other than the text', async () => {
  const skills = Array.from({ length: 10 }, (_, n) => ({ name: `${n}"`.repeat(16) }))
  const senders = await Promise.all(Array.from({ length: 20 }, (_, n) => {
    return grid.acme.agent(`sender-${n}`, { description: '"'.repeat(500), skills })
  }))
  const quotes = Buffer.from('"\n'.repeat(900)).toString('base64')
  for (const [n, sender] of senders.entries()) {
    const parts = n % 2
      ? [{ raw: quotes, mediaType: 'text/plain', filename: 'quotes.txt' }]
      : Array.from({ length: 20 }, (_, i) => ({ data: { ['\u2028'.repeat(9)]: i } }))
    await send(`${n}`, sender, { parts })
  }

  const reads = [await read()]
  while (reads.at(-1)!.has_more) reads.push(await read())

  expect(reads.flatMap(({ messages }) => messages)).toHaveLength(20)
  for (const { bytes } of reads) expect(bytes).toBeLessThanOrEqual(maxAnswerBytes)
})

test('read_messages with since last:20 returns the newest 20, oldest first, and a cursor for earlier ones', async () => {
  await sendMany(30, (n) => `${n}`)
  await read({ limit: 10 })
  const textsOf = ({ messages }: Read) => messages.map(({ message }) => Number(message))
  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)

  const newest = await read({ since: 'last:20' })
  const earlier = await read({ since: newest.cursor })

  expect([textsOf(newest), newest.has_more]).toEqual([numbers(10, 30), true])
  expect([textsOf(earlier), earlier.has_more]).toEqual([numbers(0, 10), undefined])
  expect(earlier.messages).toMatchObject(numbers(0, 10).map(() => ({ replayed: true })))
  expect(textsOf(await read())).toEqual(numbers(10, 30))
})

test('read_messages with since last:20 omits the oldest messages if not all fit', async () => {
  const sent = await sendMany(30, long)

  const newest = await read({ since: 'last:20' })
  const earlier = await read({ since: newest.cursor })

  const shown = [...earlier.messages, ...newest.messages].map(({ message }) => message)
  expect(newest.bytes).toBeLessThanOrEqual(maxAnswerBytes)
  expect(shown).toEqual(sent.slice(-shown.length))
})

test.each(['last:0', 'last:', 'last:20:forged', 'last:x'])('read_messages refuses since %s', async (since) => {
  expect(await callTool(grid, grid.bob.key, 'read_messages', { since })).toMatchObject({ code: 'invalid_input' })
})
