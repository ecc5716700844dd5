/** The size of results in bytes, printed so that growth is visible. A result contains every message text once. */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

/** Returns the size of a response's body as sent. */
async function bytesOf(what: string, key: string, method: string, params?: Record<string, unknown>): Promise<number> {
  const { body } = await mcp(grid, key, method, params)
  const bytes = Buffer.byteLength(JSON.stringify(body))
  console.log(`${what}: ${bytes} bytes`)
  return bytes
}

const reading = { name: 'read_messages', arguments: {} }

test.each([[10, 512, 7_200], [10, 200, 4_000]])(
  'a read of %i messages of %i characters takes less than %i bytes',
  async (count, length, most) => {
    for (let n = 0; n < count; n++) {
      await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: `${n}`.repeat(length) })
    }

    expect(await bytesOf(`A read of ${count} x ${length}`, grid.bob.key, 'tools/call', reading)).toBeLessThan(most)
  },
)

test('an empty read is less than 60 bytes of text, and less than 120 bytes as sent', async () => {
  const { body } = await mcp(grid, grid.bob.key, 'tools/call', reading)

  expect(JSON.stringify(body.result.content).length).toBeLessThan(60)
  expect(await bytesOf('An empty read', grid.bob.key, 'tools/call', reading)).toBeLessThan(120)
})

// Every model has this list in its context. The limits leave room for more tools, not for longer ones.
test('the result of tools/list is at most 6,100 bytes for an agent, and less than 12 kB for an admin', async () => {
  expect(await bytesOf('tools/list of an agent', grid.alice.key, 'tools/list')).toBeLessThanOrEqual(6_100)
  expect(await bytesOf('tools/list of an admin', grid.acme.adminKey, 'tools/list')).toBeLessThan(12_000)
})

test('admin tools declare whether they are read-only, destructive or idempotent', async () => {
  const { body } = await mcp(grid, grid.acme.adminKey, 'tools/list')

  for (const { name, annotations } of body.result.tools) {
    const { readOnlyHint = false, destructiveHint = false, idempotentHint } = annotations
    expect([name, readOnlyHint, destructiveHint]).toEqual([name, /_list_/.test(name), /_(delete|set)_/.test(name)])
    expect([name, idempotentHint]).toEqual([name, /_(list|set)_/.test(name)])
  }
})

test('read_messages states times to the second, and omits a time within the same minute as the previous one', async () => {
  const times: (string | undefined)[] = []
  for (const milliseconds of [0, 59_000, 2_500, 0]) {
    grid.clock.now += milliseconds
    await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hi' })
  }
  const { text } = await callTool(grid, grid.bob.key, 'read_messages')
  for (const { timestamp } of text) times.push(timestamp)

  expect(times).toEqual(['2026-11-21T09:00:00Z', undefined, '2026-11-21T09:01:01Z', undefined])
})

test('read_messages describes a sender once in a result, and again in the next result', async () => {
  const carol = await grid.acme.agent('carol', { description: 'Sings', skills: [{ name: 'song' }] })
  const send = (key: string, message: string) => callTool(grid, key, 'send_message', { to: 'bob', message })
  for (const message of ['one', 'two']) await send(carol.key, message)
  await send(grid.alice.key, 'three')
  await send(carol.key, 'four')
  const { text: first } = await callTool(grid, grid.bob.key, 'read_messages', { limit: 3 })
  const { text: second } = await callTool(grid, grid.bob.key, 'read_messages')
  const { text: again } = await callTool(grid, grid.bob.key, 'read_messages', { since: '1h' })

  const introduction = { senderDescription: 'Sings', senderSkills: ['song'] }
  expect(first[0]).toMatchObject(introduction)
  expect(second[0]).toMatchObject(introduction)
  expect(again[0]).toMatchObject(introduction)
  for (const message of [...first.slice(1), ...again.slice(1)]) {
    expect(message).not.toHaveProperty('senderDescription')
    expect(message).not.toHaveProperty('senderSkills')
  }
})
