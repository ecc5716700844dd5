/** The inbox over REST: peeks and leases. See docs/delivery.md, "Leases of runners". */
import { beforeEach, expect, test } from 'vitest'
import { minute, second } from '../../src/lib/time.ts'
import type { Connection } from '../../src/listen.ts'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { dump, rows } from '../support/database.ts'
import { onEachDatabase, type OpenGrid } from '../support/databases.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { ack, callInbox, extend, lease, peek, post, release } from '../support/inbox.ts'
import { callTool } from '../support/mcp.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid
const send = async (message: string, more: object = {}) =>
  (await post(grid, grid.alice.key, { to: '@bob', message, ...more })).body.message_id as string
const textsOf = (messages: { message: string }[]) => messages.map(({ message }) => message)
const read = async () => (await callTool(grid, grid.bob.key, 'read_messages')).text

onEachDatabase((openGrid: OpenGrid) => {
  beforeEach(async () => {
    grid = await openGrid()
  })

  test('a peek shows unread messages, with or without texts, and changes nothing', async () => {
    const id = await send('first', { conversation_id: 'c' })
    await send('second')
    await callTool(grid, grid.bob.key, 'list_channels')
    const before = await dump(grid, grid.acme)

    const whole = await peek(grid, grid.bob.key)
    const summary = await peek(grid, grid.bob.key, '?summary=true&limit=1')

    expect(whole.body).toMatchObject({ agent: '@bob', unread: 2, has_more: false })
    expect(textsOf(whole.body.messages)).toEqual(['first', 'second'])
    expect(summary.body).toMatchObject({ unread: 2, has_more: true })
    expect(summary.body.messages).toEqual([{
      ...{ message_id: id, user: '@alice', channel: 'direct', type: 'agent', conversation_id: 'c' },
      timestamp: expect.any(String),
    }])
    expect(await dump(grid, grid.acme)).toBe(before)
  })

  test('leased messages reach no other reader, and are redelivered when the lease expires', async () => {
    await send('hi')
    const first = await lease(grid, grid.bob.key, { seconds: 30 })
    const second_ = await lease(grid, grid.bob.key)
    const plain = await read()
    const end = grid.clock.now + 30 * second

    expect(first.body).toMatchObject({ expires_at: new Date(end).toISOString(), remaining: 0 })
    expect(textsOf(first.body.messages)).toEqual(['hi'])
    expect(second_.body).toEqual({ lease_id: null, expires_at: null, messages: [], remaining: 0 })
    expect(plain).toEqual([])

    // The messages can be leased again immediately, before the worker has run.
    grid.clock.now = end
    const again = await lease(grid, grid.bob.key)
    expect(again.body.messages).toMatchObject([{ message: 'hi', redelivered: true }])
    expect((await ack(grid, grid.bob.key, first.body.lease_id)).body.error.code).toBe('stale_lease')
    expect((await ack(grid, grid.bob.key, again.body.lease_id)).body).toEqual({ acked: 1 })
    grid.clock.now += 13 * 60 * minute
    expect((await lease(grid, grid.bob.key)).body.lease_id).toBeNull()
  })

  test('an expired lease is stale immediately, and the worker releases it later', async () => {
    await send('hi')
    const { body } = await lease(grid, grid.bob.key, { seconds: 30 })
    grid.clock.now += 30 * second
    const { key } = grid.bob
    const calls = [
      ack(grid, key, body.lease_id),
      release(grid, key, body.lease_id),
      extend(grid, key, body.lease_id, 60),
    ]
    for (const { status, body: { error } } of await Promise.all(calls)) {
      expect([status, error.code]).toEqual([409, 'stale_lease'])
    }
    expect(await read()).toEqual([])

    const worker = new LeaseRecovery(grid.store)
    await (grid.store.durability === 'remote' ? worker.heartbeat() : worker.releaseExpired())

    expect(await read()).toMatchObject([{ message: 'hi', redelivered: true }])
  })

  test('a lease can be extended', async () => {
    await send('hi')
    const { body } = await lease(grid, grid.bob.key, { seconds: 30 })
    grid.clock.now += 29 * second
    const extended = await extend(grid, grid.bob.key, body.lease_id, 100)
    grid.clock.now += 99 * second

    expect(extended.body).toEqual({ expires_at: new Date(grid.clock.now + second).toISOString() })
    expect((await lease(grid, grid.bob.key)).body.lease_id).toBeNull()
    expect((await ack(grid, grid.bob.key, body.lease_id)).body).toEqual({ acked: 1 })
  })

  test('some messages of a lease can be acked or released, and the others are redelivered when the lease ends', async () => {
    const ids = [await send('one'), await send('two'), await send('three')]
    const { body } = await lease(grid, grid.bob.key)
    const id = body.lease_id

    expect((await ack(grid, grid.bob.key, id, [ids[0]])).body).toEqual({ acked: 1 })
    expect((await ack(grid, grid.bob.key, id, [ids[0]])).body).toEqual({ acked: 0 })
    expect((await release(grid, grid.bob.key, id, [ids[1], ids[0]])).body).toEqual({ released: 1 })
    expect(await read()).toMatchObject([{ message: 'two', redelivered: true }])
    expect((await release(grid, grid.bob.key, id)).body).toEqual({ released: 1 })
    expect((await release(grid, grid.bob.key, id)).status).toBe(409)
    expect(await read()).toMatchObject([{ message: 'three', redelivered: true }])
    // The messages that were acked separately are still the newest batch.
    expect(await rows(grid, "SELECT 1 FROM deliveries WHERE state <> 'read' AND account_id = ?", [grid.acme.id]))
      .toEqual([])
  })

  test('messages can be leased by their ids, or by their conversation', async () => {
    const one = await send('one', { conversation_id: 'a' })
    await send('two', { conversation_id: 'b' })
    await send('three', { conversation_id: 'a' })
    const byId = await lease(grid, grid.bob.key, { message_ids: [one, grid.bob.id] })
    const ofA = await lease(grid, grid.bob.key, { conversation_id: 'a' })
    const none = await lease(grid, grid.bob.key, { conversation_id: 'c' })
    const both = await lease(grid, grid.bob.key, { conversation_id: 'b', message_ids: [one] })

    expect(textsOf(byId.body.messages)).toEqual(['one'])
    expect(textsOf(ofA.body.messages)).toEqual(['three'])
    expect(none.body).toMatchObject({ lease_id: null, remaining: 1 })
    expect(both.body.error.code).toBe('invalid_input')
    expect(await read()).toMatchObject([{ message: 'two' }])
  })

  test('simultaneous leases and reads never get the same message', async () => {
    for (let n = 0; n < 60; n++) await send(String(n))
    const all = await Promise.all(
      Array.from(
        { length: 24 },
        async (_, n) => n % 3 === 0 ? await read() : (await lease(grid, grid.bob.key, { limit: 3 })).body.messages,
      ),
    )

    const texts = all.flatMap(textsOf)
    expect(texts).toHaveLength(new Set(texts).size)
    expect(texts.length + (await read()).length).toBe(60)
  })

  test('the sender sees when a message is leased, and when it is read', async () => {
    const id = await send('hi')
    const status = async () => (await callTool(grid, grid.alice.key, 'message_status', { message_id: id })).text
    const { body } = await lease(grid, grid.bob.key)
    const during = await status()
    await ack(grid, grid.bob.key, body.lease_id)
    const after = await status()

    expect(during).toMatchObject({ delivery: 'leased', read_by: [] })
    expect(during.timeline.map(({ event }: { event: string }) => event)).toEqual(['stored', 'leased'])
    expect(after).toMatchObject({ delivery: 'read', read_by: [{ alias: '@bob' }] })
  })
})

test('an agent with a lease counts as a runner until all leases have ended, and a peek shows whether a person attends', async () => {
  grid = await testGrid()
  const { presence } = grid.acme.store.waiting
  const ids = [await send('one'), await send('two')]
  const first = await lease(grid, grid.bob.key, { message_ids: [ids[0]] })
  const other = await lease(grid, grid.bob.key)
  const sent = await post(grid, grid.alice.key, { to: '@bob', message: 'three' })
  const unattended = await peek(grid, grid.bob.key)
  await ack(grid, grid.bob.key, first.body.lease_id)
  const during = presence.at(grid.bob.id)
  await post(grid, grid.bob.key, { to: '@alice', message: 'done', acks: { lease_id: other.body.lease_id } })
  const after = presence.at(grid.bob.id)
  const leave = presence.enter(grid.bob.id, { state: 'attended', client: 'claude' })
  const attended = await peek(grid, grid.bob.key, '?summary=true')
  leave()

  expect(sent.body.recipient_presence).toBe('runner')
  expect(unattended.body.presence).toEqual({ attended: false })
  expect([during?.state, after]).toEqual(['runner', undefined])
  expect(attended.body.presence).toEqual({ attended: true })
})

test('without a body, a lease uses the defaults, and an ack applies to all messages', async () => {
  grid = await testGrid()
  await send('hi')
  const { body } = await callInbox(grid, grid.bob.key, 'POST', '/api/v1/inbox/leases')
  const acked = await callInbox(grid, grid.bob.key, 'POST', `/api/v1/inbox/leases/${body.lease_id}/ack`)

  expect(Date.parse(body.expires_at) - grid.clock.now).toBe(10 * minute)
  expect(acked.body).toEqual({ acked: 1 })
})

test.each([
  ['had left before', true, undefined],
  ['did not take its answer', false, false],
])('the messages of a lease are unread again immediately if its caller %s', async (_, hasLeft, isTaken) => {
  grid = await testGrid()
  await send('hi')
  const url = new URL('/api/v1/inbox/leases', grid.deps.config.baseUrl).href
  const connection: Connection = {
    remoteAddress: '203.0.113.7',
    hasLeft: () => Promise.resolve(hasLeft),
    ...(isTaken !== undefined && { answerTaken: () => Promise.resolve(isTaken) }),
  }

  await grid.app.request(url, { method: 'POST', headers: { Authorization: `Bearer ${grid.bob.key}` } }, connection)

  const again = await waitFor('the messages', async () => {
    const { body } = await lease(grid, grid.bob.key)
    return body.lease_id !== null && body
  })
  expect(again.messages).toMatchObject([{ message: 'hi', redelivered: true }])
})
