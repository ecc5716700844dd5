/** Large message parts: an inbox shows handles, and each part is fetched separately. docs/protocol/messages.md. */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test('a message with a 240 kB data part is a short result with a handle, and the part can be read by page', async () => {
    const data = { blob: 'd'.repeat(240_000), end: 'é' }
    await deliver([{ text: 'x' }, { data, filename: 'big.json' }, { text: 'y', metadata: { small: true } }])
    const answer = await callTool(grid, grid.bob.key, 'read_messages')

    const json = JSON.stringify(data)
    const [message] = answer.text
    expect(JSON.stringify(answer).length).toBeLessThan(3_000)
    expect(message.message).toBe('x\ny')
    expect(message.parts).toEqual([
      { kind: 'data', filename: 'big.json', bytes: Buffer.byteLength(json), part_id: `${message.message_id}.1` },
      { text: 'y', bytes: 1, metadata: { small: true } },
    ])
    expect(await wholePart(message.parts[0].part_id)).toEqual(json)
    const [{ a2a }] = await rows(grid, 'SELECT a2a FROM messages WHERE account_id = ?', [grid.acme.id])
    expect(String(a2a).length).toBeLessThan(1_000)
    expect(await chars()).toEqual([message.message.length + String(a2a).length])
  })

  test('a message with many parts, long names and large metadata is stored in 8 kB without loss', async () => {
    const parts = [
      { text: 'x' },
      { raw: 'n0base64'.repeat(1_000), filename: 'n'.repeat(1_000), mediaType: 'text/html' },
      ...Array.from({ length: 400 }, (_, n) => ({ url: `https://files.example/${n}/${'u'.repeat(200)}` })),
    ]
    const metadata = { to: '@bob', deep: ['m'.repeat(20_000)] }
    const referenceTaskIds = Array.from({ length: 100 }, (_, n) => `task-${n}-${'t'.repeat(20)}`)
    await deliver(parts, { metadata, referenceTaskIds })

    const [message] = (await callTool(grid, grid.bob.key, 'read_messages')).text

    const { a2a, parts: given } = message
    const [{ a2a: stored }] = await rows(grid, 'SELECT a2a FROM messages WHERE account_id = ?', [grid.acme.id])
    expect(Buffer.byteLength(String(stored))).toBeLessThanOrEqual(8 * 1024)
    expect(given[0]).toMatchObject({ kind: 'part', mediaType: 'application/json' })
    expect(given.at(-1)).toMatchObject({ kind: 'parts', part_id: `${message.message_id}.rest` })
    const fetched = []
    for (const { bytes: _, ...shown } of given) {
      if (shown.part_id === undefined) fetched.push(shown)
      else fetched.push(...[JSON.parse(await wholePart(shown.part_id))].flat())
    }
    expect([{ text: 'x' }, ...fetched]).toEqual(parts)
    const more = Object.fromEntries(a2a.more.map((handle: { kind: string; part_id: string }) => [handle.kind, handle]))
    expect(JSON.parse(await wholePart(more.metadata.part_id))).toEqual({ deep: metadata.deep })
    expect(JSON.parse(await wholePart(more.referenceTaskIds.part_id))).toEqual(referenceTaskIds)
  })

  test('text is paged without splitting a character, and bytes as base64', async () => {
    const text = '🙂'.repeat(9_000)
    await deliver([{ text, mediaType: 'text/markdown' }, {
      raw: bytes(30_000).toString('base64url'),
      filename: 'a.bin',
    }])
    const [{ parts }] = (await callTool(grid, grid.bob.key, 'read_messages')).text
    const page = (part_id: string, offset: number) => callTool(grid, grid.bob.key, 'read_part', { part_id, offset })

    expect(parts).toMatchObject([
      { kind: 'text', mediaType: 'text/markdown', bytes: 36_000 },
      { kind: 'raw', filename: 'a.bin', bytes: 30_000 },
    ])
    expect((await page(parts[0].part_id, 1)).text.next_offset).toBe(16_000)
    const { text: first } = await page(parts[1].part_id, 0)
    expect(first).toMatchObject({ mediaType: 'application/octet-stream', left: 18_000, next_offset: 12_000 })
    expect(Buffer.from(first.base64, 'base64')).toEqual(bytes(30_000).subarray(0, 12_000))
    expect(await wholePart(parts[0].part_id)).toBe(text)
    expect((await page(parts[0].part_id, 18_000)).code).toBe('invalid_input')
  })

  test('a text file is paged as text without splitting a character', async () => {
    for (
      const text of ['ä'.repeat(9_000), `x${'ä'.repeat(9_000)}`, `${'🙂'.repeat(5_000)}`, `xy${'🙂'.repeat(5_000)}`]
    ) {
      const raw = { raw: Buffer.from(text).toString('base64url'), mediaType: 'text/plain', filename: 'a.txt' }
      await deliver([{ text: 'see' }, raw])
      const [{ parts }] = (await callTool(grid, grid.bob.key, 'read_messages')).text
      const { part_id } = parts.find(({ kind }: { kind: string }) => kind === 'raw')
      const { text: first } = await callTool(grid, grid.bob.key, 'read_part', { part_id, offset: 0 })

      expect(first.base64).toBeUndefined()
      expect(text.startsWith(first.text)).toBe(true)
      expect(await wholePart(part_id)).toBe(text)
    }
  })

  test("only a message's sender and recipients can fetch a part, and others are told that it does not exist", async () => {
    const carol = await grid.acme.agent('carol')
    await deliver([{ text: 'x' }, { data: 'd'.repeat(20_000) }])
    const [{ message_id }] = (await callTool(grid, grid.bob.key, 'read_messages')).text
    const codes = async (key: string, part_id: string) => {
      const called = await callTool(grid, key, 'read_part', { part_id })
      const rest = await grid.request(`/api/v1/parts/${part_id}`, { headers: { Authorization: `Bearer ${key}` } })
      return [called.code, rest.status]
    }

    for (const { key } of [grid.alice, grid.bob]) expect(await codes(key, `${message_id}.1`)).toEqual([undefined, 200])
    for (const { key } of [grid.eve, carol]) {
      for (const name of ['1', 'details']) {
        expect(await codes(key, `${message_id}.${name}`)).toEqual(['part_not_found', 404])
      }
    }
    expect(await codes(grid.bob.key, `${message_id}.0`)).toEqual(['part_not_found', 404])
  })
})

async function deliver(parts: unknown[], more: Record<string, unknown> = {}): Promise<void> {
  const { body } = await postA2a(grid, grid.alice.key, send10({ parts, ...more }))
  expect(body.error).toBeUndefined()
}

/** Returns a part's text or base64, as bob fetches it page by page. */
async function wholePart(part_id: string): Promise<string> {
  let whole = ''
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const { text: page } = await callTool(grid, grid.bob.key, 'read_part', { part_id, offset })
    whole += page.text ?? page.base64
    offset = page.next_offset
    expect(page.left > 0).toBe(offset !== undefined)
  }
  return whole
}

/** Returns the lengths of the messages in Acme's inboxes. */
async function chars(): Promise<number[]> {
  return (await rows(grid, 'SELECT chars FROM deliveries WHERE account_id = ?', [grid.acme.id])).map(({ chars }) =>
    Number(chars)
  )
}

function bytes(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, n) => n * 7 % 256))
}
