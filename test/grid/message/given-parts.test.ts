/** Parts that agents give with a message over MCP and REST, and how readers receive them. docs/protocol/messages.md. */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { endpointOf, postA2a, request, send10 } from '../../support/a2a.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid(testProviders())
})

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]).toString('base64')
const given = [
  { text: 'notes', filename: 'a.txt' },
  { raw: png, filename: 'a.png', mediaType: 'image/png' },
  { url: 'https://files.example/b' },
  { data: { rows: [1, 2] } },
  { raw: btoa('a,b\n'), filename: 'a.csv', mediaType: 'text/csv' },
]
const shown = [
  { filename: 'a.txt', bytes: 5, text: 'notes' },
  { filename: 'a.png', mediaType: 'image/png', bytes: 6, raw: png },
  { bytes: 23, url: 'https://files.example/b' },
  { bytes: 14, data: { rows: [1, 2] } },
  { filename: 'a.csv', mediaType: 'text/csv', bytes: 4, text: 'a,b\n' },
]

const ways: Record<string, (parts: unknown) => Promise<string>> = {
  'send_message': async (parts) => {
    const { text, code } = await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'see', parts })
    return code ?? text.message_id
  },
  'POST /api/v1/messages': async (parts) => {
    const { body } = await callRest(grid, grid.alice.key, 'POST /api/v1/messages', { to: 'bob', message: 'see', parts })
    return body.error?.code ?? body.message_id
  },
}

test.each(Object.keys(ways))("%s: every reader gets a message's parts at its top level", async (way) => {
  const id = await ways[way](given)

  const peeked = await callRest(grid, grid.bob.key, 'GET /api/v1/inbox')
  const leased = await callRest(grid, grid.bob.key, 'POST /api/v1/inbox/leases')
  const { text: [read] } = await callTool(grid, grid.bob.key, 'read_messages', { message_id: id })
  for (const message of [peeked.body.messages[0], leased.body.messages[0], read]) {
    expect(message).toMatchObject({ message_id: id, message: 'see', parts: shown })
    expect(message).not.toHaveProperty('a2a')
    expect(message).not.toHaveProperty('via')
  }
})

test.each<[string, unknown, string]>([
  ['no content', { filename: 'a' }, 'invalid_input'],
  ['two contents', { text: 'a', data: 1 }, 'invalid_input'],
  ['a misspelled member', { text: 'a', mime_type: 'text/plain' }, 'invalid_input'],
  ['an address of another scheme', { url: 'http://files.example/b' }, 'invalid_input'],
  ['a script as address', { url: 'javascript:alert(1)' }, 'invalid_input'],
  ['no base64', { raw: 'a b' }, 'invalid_input'],
  ['a name of more than 255 bytes', { text: 'a', filename: '📎'.repeat(64) }, 'invalid_input'],
  ['more than 256 KiB', { text: 'é'.repeat(128 * 1024 + 1) }, 'payload_too_large'],
])('a part with %s is refused, and nothing is sent', async (_, part, code) => {
  for (const way of Object.values(ways)) expect(await way([part])).toBe(code)
  expect(await ways['send_message'](Array(21).fill({ text: 'a' }))).toBe('invalid_input')
  expect((await callTool(grid, grid.bob.key, 'read_messages')).text).toEqual([])
})

test('a text part as long as the message is not mistaken for the message', async () => {
  await ways['send_message']([{ text: 'one' }])

  expect((await callTool(grid, grid.bob.key, 'read_messages')).text[0].parts).toEqual([{ text: 'one', bytes: 3 }])
})

test('a call can contain 256 KiB of bytes, which both agents can fetch by a handle', async () => {
  const raw = Buffer.alloc(256 * 1024, 7).toString('base64')
  for (const [n, way] of Object.values(ways).entries()) {
    const id = await way([{ raw, filename: 'b.bin' }])
    const { text: [message] } = await callTool(grid, grid.bob.key, 'read_messages')
    const part_id = `${id}.0`
    expect([n, message.parts]).toEqual([n, [
      { kind: 'raw', filename: 'b.bin', bytes: 256 * 1024, part_id },
    ]])
    for (const { key } of [grid.alice, grid.bob]) {
      expect((await callRest(grid, key, 'GET /api/v1/parts/{id}', { id: part_id })).status).toBe(200)
    }
  }
})

test('a retry with the same idempotency key must have the same parts', async () => {
  const send = async (parts: unknown) =>
    (await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'x', parts, idempotency_key: 'k' }))
      .code

  expect(await send([{ data: 1 }])).toBeUndefined()
  expect(await send([{ data: 1 }])).toBeUndefined()
  expect(await send([{ data: 2 }])).toBe('idempotency_conflict')
})

test.each([
  ['a path', '../../x', '../../x'],
  ['controls and line ends', 'a\r\nb\x1b[2J\tc\u202etxt.exe', 'a b[2J ctxt.exe'],
  ['255 bytes of emoji', `${'📎'.repeat(63)}.md`, `${'📎'.repeat(63)}.md`],
])("a file's name is one visible line: %s", async (_, filename, clean) => {
  await ways['send_message']([{ text: 'a', filename }])

  const { text: [{ parts }] } = await callTool(grid, grid.bob.key, 'read_messages')
  expect(parts).toEqual([{ filename: clean, bytes: 1, text: 'a' }])
})

test('a guardrail finds a secret in a text file, and redacts it for each member that has the guardrail', async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob'] })
  const raw = btoa(`the key: ${secret}`)
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  await callTool(grid, grid.alice.key, 'send_message', {
    to: '#team',
    message: 'see',
    parts: [{ raw, filename: 'a.txt' }],
  })
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'block' })

  const { text: [{ parts }] } = await callTool(grid, grid.bob.key, 'read_messages')
  expect(Buffer.from(parts[0].raw, 'base64').toString()).toBe('the key: [redacted]')
  expect(await ways['send_message']([{ raw, filename: 'a.txt' }])).toBe('guardrail_blocked')
  expect(await ways['send_message']([{ data: { [secret]: 1 } }])).toBe('guardrail_blocked')
})

test("the parts of an A2A task reach the reader, and an answer with parts becomes the task's artifact, text first", async () => {
  const { body } = await postA2a(
    grid,
    grid.alice.key,
    send10({ metadata: undefined, parts: [{ text: 'draw' }, given[1]] }, {
      configuration: { returnImmediately: true },
    }),
    {},
    endpointOf(grid.bob),
  )
  const { text: [asked] } = await callTool(grid, grid.bob.key, 'read_messages')
  expect(asked).toMatchObject({ via: 'a2a', message: 'draw', parts: [shown[1]] })

  const answer = { to: 'alice', message: 'see', parts: given, reply_to_message_id: asked.message_id }
  await callTool(grid, grid.bob.key, 'send_message', answer)

  const { body: got } = await postA2a(grid, grid.alice.key, request('GetTask', { id: body.result.task.id }))
  expect(got.result.artifacts[0].parts).toEqual([{ text: 'see' }, ...given])
})
