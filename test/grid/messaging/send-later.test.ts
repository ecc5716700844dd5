/** Scheduled messages. See docs/delivery.md, "Sending later". */
import { beforeEach, expect, test } from 'vitest'
import { createAgent, deleteAgent } from '../../../src/grid/agents/agents.ts'
import { createChannel, setChannelMembers } from '../../../src/grid/channels/channels.ts'
import { sendScheduled } from '../../../src/grid/messaging/send-later.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import { sendDue } from '../../../src/worker/scheduled.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid
let providers: ReturnType<typeof testProviders>
beforeEach(async () => {
  providers = testProviders()
  grid = await testGrid({ guardrailChecks: providers.guardrailChecks })
})

const send = (more: Record<string, unknown>, agent: TestAgent = grid.alice) =>
  callTool(grid, agent.key, 'send_message', { to: '@bob', message: 'good morning', send_at: '3600', ...more })

async function read(agent: TestAgent): Promise<string[]> {
  const { text } = await callTool(grid, agent.key, 'read_messages')
  return text.map(({ message }: { message: string }) => message)
}

async function after(ms: number): Promise<void> {
  grid.clock.now += ms
  await sendDue(grid.store, new AbortController().signal)
}

test('a scheduled message is sent once at its time, with that timestamp and as the newest message', async () => {
  const { text } = await send({ send_at: '2026-11-21T11:00:00+01:00' })
  expect(text).toEqual({ message_id: expect.any(String), recipient: '@bob', send_at: '2026-11-21T10:00:00.000Z' })
  expect((await callTool(grid, grid.alice.key, 'message_status', text)).text).toMatchObject({
    delivery: 'scheduled',
    send_at: '2026-11-21T10:00:00.000Z',
  })
  await send({ message: 'now', send_at: undefined })
  await after(hour - 1)
  expect(await read(grid.bob)).toEqual(['now'])

  grid.clock.now += 1
  // Simulates several processes.
  await Promise.all([1, 2, 3].map(() => after(0)))
  const { text: [message], more } = await callTool(grid, grid.bob.key, 'read_messages')
  expect(message).toMatchObject({ message: 'good morning', type: 'agent', user: '@alice' })
  expect(Date.parse(message.timestamp)).toBe(grid.clock.now)
  expect(more?.unread).toBeUndefined()
  await after(hour)
  expect(await read(grid.bob)).toEqual([])
})

test('two processes that send the same scheduled message at the same time store it once', async () => {
  const { text: { message_id: id } } = await send({})
  grid.clock.now += hour
  const alice = storeOf(grid, grid.alice)
  const sender = { agentId: grid.alice.id, alias: 'alice' }
  await Promise.all([sendScheduled(alice, sender, id), sendScheduled(alice, sender, id)])
  expect(await read(grid.bob)).toEqual(['good morning'])
})

test('send_at accepts seconds from now as a number, over REST too, and refuses invalid times', async () => {
  const answer = await callRest(grid, grid.alice.key, 'POST /api/v1/messages', {
    to: 'bob',
    message: 'hi',
    send_at: 60,
  })
  expect(answer.body).toMatchObject({ recipient: '@bob', send_at: '2026-11-21T09:01:00.000Z' })
  for (
    const send_at of [
      'yesterday',
      '0',
      '2026-11-21T10:00:00',
      'Nov 22 2026',
      '2026-11-21T08:00:00Z',
      '2028-01-01T00:00:00Z',
    ]
  ) {
    expect([send_at, (await send({ send_at })).code]).toEqual([send_at, 'invalid_input'])
  }
  expect((await send({ wait_seconds: 5 })).message).toContain('not both')
  expect((await send({ answers: 2 })).message).toContain('not both')
})

test('a scheduled message with an unknown recipient or an invalid text is refused immediately', async () => {
  expect((await send({ to: '@nobody' })).code).toBe('recipient_not_found')
  expect((await send({ message: '' })).code).toBe('invalid_input')
})

test('only the sender can retract a scheduled message, until it is sent', async () => {
  const { text } = await send({})
  expect((await callTool(grid, grid.bob.key, 'retract_message', text)).code).toBe('message_not_found')
  expect((await callTool(grid, grid.alice.key, 'retract_message', text)).text).toMatchObject({ delivery: 'retracted' })
  await after(hour)
  expect(await read(grid.bob)).toEqual([])
})

test('membership, guardrails and the recipient are checked at send time, and the sender is notified of a refusal', async () => {
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  await send({ to: '#ops' })
  await send({ message: secret })
  await guard(grid.acme, 'bob', { direction: 'inbound' })
  await setChannelMembers(grid.acme.store, { channel: 'ops', members: ['bob'] })
  await after(hour)
  expect(await read(grid.bob)).toEqual([])
  const notices = await read(grid.alice)
  expect(notices).toHaveLength(2)
  expect(notices[0]).toMatch(/^Your scheduled message to #ops was refused: You are not a member/)
  expect(notices[1]).toMatch(/^Your scheduled message to @bob was refused: /)
})

test('a temporary failure only delays a scheduled message', async () => {
  await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook' })
  providers.remote.check = () => Promise.reject(new Error('The service is down.'))
  await send({})
  await after(hour)
  expect(await read(grid.bob)).toEqual([])
  providers.remote.check = () => ({ kinds: [] })
  await after(minute)
  expect([await read(grid.bob), await read(grid.alice)]).toEqual([['good morning'], []])
})

test("an account's slow guardrails and many waiting messages do not delay another account's scheduled message", async () => {
  await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook' })
  let pass = () => {}
  const passed = new Promise<void>((resolve) => pass = resolve)
  providers.remote.check = () => passed.then(() => ({ kinds: [] }))
  for (let n = 0; n < 11; n++) await send({ message: `${n}` })
  const { apiKey: key } = await createAgent(grid.evil.store, { alias: 'mallory' })
  await send({ to: '@eve', send_at: '3601' }, { ...grid.eve, key })
  const ended = after(hour + minute)
  await waitFor('the message of the other account', async () => (await read(grid.eve)).includes('good morning'))
  pass()
  await ended
  expect(await read(grid.bob)).toHaveLength(10)
  await after(0)
  expect(await read(grid.bob)).toEqual(['10'])
})

test('repeating a scheduled send with its idempotency key returns the same message, before and after it is sent', async () => {
  const first = await send({ idempotency_key: 'k' })
  expect((await send({ idempotency_key: 'k' })).text).toEqual(first.text)
  expect((await send({ idempotency_key: 'k', message: 'other' })).code).toBe('idempotency_conflict')
  await after(hour)
  expect((await send({ idempotency_key: 'k' })).text).toMatchObject({ recipient: '@bob', send_at: first.text.send_at })
  expect(await read(grid.bob)).toEqual(['good morning'])
})

test('an agent can schedule at most 100 messages, which are removed when the agent is deleted', async () => {
  for (let n = 0; n < 100; n++) expect((await send({ message: `${n}` })).code).toBeUndefined()
  expect((await send({})).code).toBe('quota_exceeded')
  expect((await send({ to: '@alice' }, grid.bob)).code).toBeUndefined()
  await deleteAgent(grid.acme.store, 'alice')
  await after(hour)
  for (let n = 0; n < 10; n++) await after(0)
  expect(await read(grid.bob)).toEqual([
    expect.stringMatching(/^Your scheduled message to @alice was refused: Agent '@alice' not found/),
  ])
  expect(await rows(grid, 'SELECT 1 FROM scheduled_messages WHERE account_id = ?', [grid.acme.id])).toEqual([])
})
