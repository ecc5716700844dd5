/** `GET /api/v1/parts/{id}`: complete parts, ranges, and validators. docs/protocol/messages.md, "Large parts". */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { postA2a, send10 } from '../support/a2a.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { TestGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'

const content = Buffer.from(Array.from({ length: 50_000 }, (_, n) => n % 251))

let grid: TestGrid
let path: string

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    const raw = { raw: content.toString('base64'), mediaType: 'image/png', filename: 'cat.png' }
    await postA2a(grid, grid.alice.key, send10({ parts: [{ text: 'x' }, raw] }))
    const [message] = (await callTool(grid, grid.bob.key, 'read_messages')).text
    path = `/api/v1/parts/${message.parts[0].part_id}`
  })

  test('a part is returned completely, as a download that no page of the grid displays', async () => {
    const response = await get()

    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-disposition': "attachment; filename*=UTF-8''cat.png",
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      etag: `"${path.split('/').at(-1)}"`,
    })
    expect(await bodyOf(response)).toEqual(content)
  })

  test('the part of a parked message cannot be read over REST or MCP', async () => {
    const parked = "UPDATE deliveries SET state = 'parked', read_at = 1 WHERE account_id = ?"
    await rows(grid, parked, [grid.acme.id])

    expect((await get()).status).toBe(404)
    const part = await callTool(grid, grid.bob.key, 'read_part', { part_id: path.split('/').at(-1) })
    expect(part.code).toBe('part_not_found')
  })

  test.each([
    ['bytes=0-9', 0, 9],
    ['bytes=49990-', 49_990, 49_999],
    ['bytes=-5', 49_995, 49_999],
    ['bytes=49999-99999', 49_999, 49_999],
    ['bytes=-99999', 0, 49_999],
  ])('a request with Range: %s gets that range of a part', async (range, first, last) => {
    const response = await get({ Range: range })

    expect([response.status, response.headers.get('content-range')]).toEqual([206, `bytes ${first}-${last}/50000`])
    expect(await bodyOf(response)).toEqual(content.subarray(first, last + 1))
  })

  test.each(['bytes=50000-', 'bytes=60000-70000', 'bytes=-0'])(
    'a request with Range: %s gets 416 with the length of the part',
    async (range) => {
      const response = await get({ Range: range })

      expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */50000'])
      expect((await response.json()).error).toEqual({
        code: 'range_not_satisfiable',
        message: 'The part has 50000 bytes.',
      })
    },
  )

  test.each(['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-', 'bytes=a-b'])(
    'a request with Range: %s gets the complete part',
    async (range) => {
      const response = await get({ Range: range })

      expect([response.status, (await bodyOf(response)).length]).toEqual([200, 50_000])
    },
  )

  test('the ETag answers If-None-Match with 304, and If-Range with a range of that version only', async () => {
    const etag = (await get()).headers.get('etag')!

    expect((await get({ 'If-None-Match': `"other", W/${etag}` })).status).toBe(304)
    expect((await get({ 'If-None-Match': '"other"' })).status).toBe(200)
    expect((await get({ Range: 'bytes=0-1', 'If-Range': etag })).status).toBe(206)
    expect((await get({ Range: 'bytes=0-1', 'If-Range': '"other"' })).status).toBe(200)
  })

  test('a part can be read with the key of an agent that sent or received the message', async () => {
    const statusWith = async (key: string) => (await get({}, key)).status

    expect(await statusWith(grid.alice.key)).toBe(200)
    expect(await statusWith(grid.eve.key)).toBe(404)
    expect(await statusWith(grid.acme.adminKey)).toBe(403)
    expect((await grid.request(path)).status).toBe(401)
    expect((await grid.request('/api/v1/parts/%E0%A4%A', { headers: bearing(grid.bob.key) })).status).toBe(404)
  })
})

function get(headers: Record<string, string> = {}, key = grid.bob.key): Promise<Response> {
  return grid.request(path, { headers: { ...bearing(key), ...headers } })
}

function bearing(key: string) {
  return { Authorization: `Bearer ${key}` }
}

async function bodyOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer())
}
