/** Texts of more than 10,000 characters. The message contains the beginning, and a part contains the full text. */
import { beforeEach, expect, test } from 'vitest'
import { followLog } from '../../../src/worker/followers.ts'
import { endpointOf, postA2a, request, send03 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'

const beginning = `${'x'.repeat(9_999)}…`
const long = `${'x'.repeat(10_000)} and the end`

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

// deno-lint-ignore no-explicit-any -- tests check it
type Seen = any

const read = async (): Promise<Seen[]> => (await callTool(grid, grid.bob.key, 'read_messages')).text
const wholeOf = async (part_id: string): Promise<string> => {
  let text = ''
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const { text: page } = await callTool(grid, grid.bob.key, 'read_part', { part_id, offset })
    text += page.text
    offset = page.next_offset
  }
  return text
}

const doors: [string, (text: string) => Promise<unknown>][] = [
  ['MCP', (message) => callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message })],
  ['REST', (message) => callRest(grid, grid.alice.key, 'POST /api/v1/messages', { to: '@bob', message })],
  ['A2A', (text) => postA2a(grid, grid.alice.key, send03({ parts: [{ kind: 'text', text }] }))],
]

test.each(doors)('a long text sent over %s arrives as a part, and is found by its last word', async (_, send) => {
  await send(long)
  await followLog(grid.store)

  const [{ message, parts }] = await read()
  expect(message).toBe(beginning)
  expect(parts).toEqual([{ kind: 'text', bytes: long.length, part_id: parts[0].part_id }])
  expect(await wholeOf(parts[0].part_id)).toBe(long)
  const found = (await callTool(grid, grid.bob.key, 'search_messages', { query: 'end' })).text
  expect(found).toHaveLength(1)
  const [{ bytes }] = await rows(grid, "SELECT bytes FROM usage WHERE account_id = ? AND subject = ''", [grid.acme.id])
  expect(Number(bytes)).toBeGreaterThan(long.length + beginning.length)
})

test.each(doors)('guardrails see the end of a long text over %s, and redact it in the full text', async (_, send) => {
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await send(`${long} ${secret}.`)

  const [{ message, parts, flagged }] = await read()
  expect([message, flagged]).toEqual([beginning, true])
  expect(await wholeOf(parts[0].part_id)).toBe(`${long} [redacted].`)
})

test('a member whose guardrail redacted a long post gets only the short copy', async () => {
  const { remote, guardrailChecks } = testProviders()
  grid = await testGrid({ guardrailChecks })
  // A finding without spans redacts the full text.
  remote.check = () => ({ kinds: ['secret'] })
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact', provider: 'webhook' })
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  const { text: sent } = await callTool(grid, grid.alice.key, 'send_message', { to: '#ops', message: long })

  const [post] = await read()
  expect(post).toMatchObject({ message: '[redacted]', flagged: true })
  expect(post).not.toHaveProperty('parts')
  for (const key of ['0', 'details', 'rest']) {
    const { code } = await callTool(grid, grid.bob.key, 'read_part', { part_id: `${sent.message_id}.${key}` })
    expect([key, code]).toEqual([key, 'part_not_found'])
  }
})

test("files come after a long text's part, and a text of maximum length stays in the message", async () => {
  const send = (message: string) =>
    callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message, parts: [{ data: { n: 1 } }] })
  await send(long)
  await send('🙂'.repeat(10_000))

  const [[first], [second]] = [await read(), await read()]
  expect(first.parts).toMatchObject([{ kind: 'text', bytes: long.length }, { data: { n: 1 } }])
  expect(first).not.toHaveProperty('via')
  expect(second.parts).toMatchObject([{ data: { n: 1 } }])
  expect([...second.message]).toHaveLength(10_000)
})

test('a text that is larger than a part is refused', async () => {
  const send = async (bytes: number) =>
    (await callRest(grid, grid.alice.key, 'POST /api/v1/messages', { to: '@bob', message: 'x'.repeat(bytes) })).body

  expect(await send(256 * 1024)).toHaveProperty('message_id')
  expect(await send(256 * 1024 + 1)).toMatchObject({ error: { code: 'message_too_long' } })
})

test("a task's client reads its long message and the long answer completely", async () => {
  const path = endpointOf(grid.bob)
  const sent = await postA2a(
    grid,
    grid.alice.key,
    request('message/send', {
      message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: long }] },
      configuration: { blocking: false },
    }),
    {},
    path,
  )
  const [{ message_id }] = await read()
  await callTool(grid, grid.bob.key, 'send_message', {
    to: '@alice',
    message: `${long}!`,
    reply_to_message_id: message_id,
  })

  const { body } = await postA2a(grid, grid.alice.key, request('tasks/get', { id: sent.body.result.id }), {}, path)
  expect(body.result.status.state).toBe('completed')
  expect(body.result.history[0].parts).toEqual([{ kind: 'text', text: long }])
  expect(body.result.artifacts[0].parts).toEqual([{ kind: 'text', text: `${long}!` }])
})

test('repeating an idempotency key with a long text that differs only at its end is a conflict', async () => {
  const send = async (message: string) =>
    (await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message, idempotency_key: 'k' })).text

  const { message_id } = await send(long)
  expect((await send(long)).message_id).toBe(message_id)
  expect(await send(`${long}!`)).toMatchObject({ error: { code: 'idempotency_conflict' } })
})
