import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { updateTrial } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, eras, mcp } from '../support/mcp.ts'

const now = '2026-11-21T09:00:00.000Z'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test.each(eras)("in the %s era, every tool's input schema is an object, and no list contains $schema", async (era) => {
  const { body } = await mcp(grid, grid.alice.key, 'tools/list', {}, era)
  const text = JSON.stringify(body)

  expect(text).not.toContain('$schema')
  for (const { inputSchema } of body.result.tools) expect(inputSchema.type).toBe('object')
})

test('the schema of send_message contains its limits', async () => {
  const { body } = await mcp(grid, grid.alice.key, 'tools/list')
  const { inputSchema } = body.result.tools[0]

  expect(inputSchema.required).toEqual(['to', 'message'])
  expect(inputSchema.properties.message).toEqual({ type: 'string', minLength: 1, maxLength: 256 * 1024 })
})

test.each(eras)('in the %s era, a message that alice sends is read once by bob', async (era) => {
  const sent = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hi' }, era)
  const read = await callTool(grid, grid.bob.key, 'read_messages', {}, era)
  const again = await callTool(grid, grid.bob.key, 'read_messages', {}, era)

  expect(sent.text).toEqual({
    message_id: expect.any(String),
    timestamp: now,
    recipient: '@bob',
    unread: 0,
    recipient_presence: 'nobody yet',
    recipient_last_seen: null,
    recipient_unread: 1,
  })
  expect(read.text).toEqual([{
    message_id: sent.text.message_id,
    channel: 'direct',
    user: '@alice',
    type: 'agent',
    message: 'hi',
    reply_to: '@alice',
    timestamp: '2026-11-21T09:00:00Z',
  }])
  expect(read.more).toEqual({ cursor: expect.any(String) })
  expect([again.text, again.more]).toEqual([[], undefined])
})

test('if more messages are unread, the fields next to the messages say so', async () => {
  for (const message of ['one', 'two', 'three']) {
    await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message })
  }

  const first = await callTool(grid, grid.bob.key, 'read_messages', { limit: 2 })
  const rest = await callTool(grid, grid.bob.key, 'read_messages', { limit: 2 })

  expect(first.text).toHaveLength(2)
  const cursor = expect.any(String)
  expect(first.more).toEqual({ cursor, has_more: true, unread: 1, note: 'Call read_messages again.' })
  expect([rest.text.length, rest.more]).toEqual([1, { cursor }])
})

test('read_messages with since returns messages again, and says how to get more', async () => {
  for (const message of ['one', 'two', 'three']) {
    await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message })
  }
  await callTool(grid, grid.bob.key, 'read_messages')

  const first = await callTool(grid, grid.bob.key, 'read_messages', { since: 'last_batch', limit: 2 })
  const rest = await callTool(grid, grid.bob.key, 'read_messages', { since: first.more.cursor })

  expect(first.text).toMatchObject([{ message: 'one', replayed: true }, { message: 'two', replayed: true }])
  const note = 'There are more messages. Call read_messages with this cursor as since.'
  expect(first.more).toEqual({ cursor: expect.any(String), has_more: true, note })
  expect(rest.text).toMatchObject([{ message: 'three', replayed: true }])
  expect(rest.more).toEqual({ cursor: expect.any(String) })
})

test('a message longer than max_chars is truncated and counts as read, and an offset returns its rest', async () => {
  const text = `${'x'.repeat(38)}🙂end`
  for (const message of [text, 'y']) await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message })

  const peeked = await callTool(grid, grid.bob.key, 'read_messages', { max_chars: 39, peek: true })
  const short = await callTool(grid, grid.bob.key, 'read_messages', { max_chars: 39 })
  const behind = await callTool(grid, grid.bob.key, 'read_messages', { max_chars: 39 })
  const { message_id } = short.text[0]
  const rest = await callTool(grid, grid.bob.key, 'read_messages', { message_id, offset: 38 })
  const beyond = await callTool(grid, grid.bob.key, 'read_messages', { message_id, offset: 43 })

  const note =
    `Message ${message_id} is truncated. To read the rest, call read_messages with this message_id and offset 38.`
  const shortened = { length: 43, next_offset: 38 }
  expect(short.text).toMatchObject([{ message: 'x'.repeat(38), shortened }])
  expect(short.more).toMatchObject({ note: `${note} Call read_messages again.`, has_more: true, unread: 1 })
  expect(peeked.text).toEqual(short.text)
  expect(behind.text).toMatchObject([{ message: 'y' }])
  expect(rest.text).toMatchObject([{ message: '🙂end', offset: 38, replayed: true }])
  expect([rest.text[0].shortened, rest.more]).toEqual([undefined, { cursor: expect.any(String) }])
  expect(beyond.code).toBe('invalid_input')
})

test("send_message returns the sender's number of unread messages", async () => {
  await callTool(grid, grid.bob.key, 'send_message', { to: 'alice', message: 'hi' })

  expect((await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'ho' })).text.unread).toBe(1)
})

test("message_status shows a message's readers only to its sender", async () => {
  const { text: sent } = await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hi' })
  const asked = { message_id: sent.message_id }
  const before = await callTool(grid, grid.alice.key, 'message_status', asked)
  await callTool(grid, grid.bob.key, 'read_messages')
  const after = await callTool(grid, grid.alice.key, 'message_status', asked)

  const stored = { alias: '@bob', event: 'stored', at: now }
  expect(before.text).toEqual({
    ...asked,
    sent_at: now,
    recipient: '@bob',
    read_by: [],
    delivery: 'queued',
    timeline: [stored],
  })
  expect(after.text.timeline).toEqual([stored, { alias: '@bob', event: 'leased', at: now }])
  expect(after.text).toMatchObject({ read_by: [{ alias: '@bob', read_at: now }], delivery: 'read' })
  expect((await callTool(grid, grid.bob.key, 'message_status', asked)).code).toBe('message_not_found')
  expect((await callTool(grid, grid.eve.key, 'message_status', asked)).code).toBe('message_not_found')
})

test("list_agents lists the account's other agents, and on request public agents of other accounts", async () => {
  await grid.evil.agent('open-desk', {
    visibility: 'public',
    description: 'Answers questions',
    skills: [{ name: 'faq' }],
  })
  const own = await callTool(grid, grid.alice.key, 'list_agents')
  const found = await callTool(grid, grid.alice.key, 'list_agents', { search: 'FAQ', public: true })

  expect(own.text.map(({ alias }: { alias: string }) => alias)).toEqual(['@bob'])
  expect(own.more).toBeUndefined()
  expect(found.text).toEqual([{
    alias: '@open-desk',
    description: 'Answers questions',
    type: 'mcp',
    visibility: 'public',
    skills: [{ name: 'faq', description: '' }],
    last_seen: null,
  }])
})

test("list_channels lists the caller's channels", async () => {
  await createChannel(grid.acme.store, { name: 'general', description: 'All of us', members: ['alice', 'bob'] })
  await createChannel(grid.acme.store, { name: 'others', members: ['bob'] })
  const listed = await callTool(grid, grid.alice.key, 'list_channels')

  expect(listed.text).toEqual([{ name: '#general', description: 'All of us', members: ['@alice', '@bob'] }])
  expect(listed.more).toBeUndefined()
})

test("set_skills replaces the agent's skills, and list_skills lists those of the account or of one agent", async () => {
  const skills = [{ name: 'maths', description: 'Sums' }, 'poems']
  const set = await callTool(grid, grid.alice.key, 'set_skills', { skills })
  const ofBob = await callTool(grid, grid.alice.key, 'list_skills', { agent: '@bob' })
  const ofAlice = await callTool(grid, grid.bob.key, 'list_skills', { agent: 'alice' })
  const ofAll = await callTool(grid, grid.bob.key, 'list_skills')

  expect(set.text).toEqual({ assigned: ['maths', 'poems'], created: ['maths', 'poems'] })
  expect(ofBob.text).toEqual([])
  expect(ofAlice.text).toEqual([{ name: 'maths', description: 'Sums' }, { name: 'poems', description: '' }])
  expect([ofAll.text, ofAll.more]).toEqual([ofAlice.text, undefined])
  expect((await callTool(grid, grid.eve.key, 'list_skills')).text).toEqual([])
})

test.each([
  ['send_message', {}, 'invalid_input'],
  ['send_message', { to: 'bob', message: '' }, 'invalid_input'],
  ['send_message', { to: 'bob', message: 'a\0b' }, 'invalid_input'],
  ['send_message', { to: 'bob\ud800', message: 'hi' }, 'invalid_input'],
  ['send_message', { to: 'bob', message: 'x'.repeat(256 * 1024 + 1) }, 'message_too_long'],
  ['send_message', { to: 'nobody', message: 'hi' }, 'recipient_not_found'],
  ['send_message', { to: 'eve', message: 'hi' }, 'recipient_not_found'],
  ['send_message', { to: 'alice', message: 'hi' }, 'self_message'],
  ['send_message', { to: '#nothing', message: 'hi' }, 'channel_not_found'],
  ['send_message', { to: '#others', message: 'hi' }, 'not_channel_member'],
  ['send_message', { to: 'bob', message: 'hi', reply_to_message_id: 'none' }, 'message_not_found'],
  ['read_messages', { limit: 0 }, 'invalid_input'],
  ['read_messages', { message_id: 'none' }, 'message_not_found'],
  ['read_messages', { offset: 1 }, 'invalid_input'],
  ['message_status', { message_id: 'none' }, 'message_not_found'],
  ['list_agents', { search: 5 }, 'invalid_input'],
  ['list_channels', { cursor: 'a\0b' }, 'invalid_input'],
  ['list_skills', { agent: 'nobody' }, 'agent_not_found'],
  ['list_skills', { agent: 'eve' }, 'agent_not_found'],
  ['set_skills', { skills: [''] }, 'invalid_input'],
  ['set_skills', { skills: [{ name: 'x'.repeat(65) }] }, 'invalid_input'],
  ['read_part', { part_id: 'none' }, 'part_not_found'],
])('%s with the arguments %j is refused with %s', async (name, args, code) => {
  await createChannel(grid.acme.store, { name: 'others', members: ['bob'] })
  const called = await callTool(grid, grid.alice.key, name, args)

  expect(called.code).toBe(code)
  expect(called.message).toMatch(/\S/)
  expect(called.more).toBeUndefined()
})

test('after the trial, a send is refused with trial_expired, and reading still works', async () => {
  await callTool(grid, grid.bob.key, 'send_message', { to: 'alice', message: 'hi' })
  await updateTrial(grid, grid.alice, { used: 10, max: 10, expiresAt: grid.clock.now + 1_000 })

  expect((await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hi' })).code).toBe(
    'trial_expired',
  )
  expect((await callTool(grid, grid.alice.key, 'read_messages')).text).toHaveLength(1)
})

test('an unexpected error is logged, and the response omits its details', async () => {
  await grid.store.write([{ sql: 'ALTER TABLE channels RENAME TO lost', args: [] }])
  const called = await callTool(grid, grid.alice.key, 'list_channels')
  const read = await mcp(grid, grid.alice.key, 'resources/read', { uri: 'grid://channels' })

  expect([called.code, called.message]).toEqual(['internal', 'Internal error'])
  expect(read.body.error).toEqual({ code: -32603, message: 'Internal error' })
  expect(grid.logs.filter((line) => line.includes('Unexpected error') && line.includes('requestId'))).toHaveLength(2)
})
