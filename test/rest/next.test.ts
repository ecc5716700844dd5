/** Leases that wait, and sends that lease the next messages. See docs/protocol/rest.md, "Messages". */
import { beforeEach, expect, test } from 'vitest'
import { reissueKey } from '../../src/grid/agents/agent-settings.ts'
import { day, second } from '../../src/lib/time.ts'
import type { Connection } from '../../src/listen.ts'
import { rows, updateTrial } from '../support/database.ts'
import { onEachDatabase, type OpenGrid } from '../support/databases.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { followIdle } from '../support/idle.ts'
import { ack, lease, post } from '../support/inbox.ts'
import { callTool } from '../support/mcp.ts'

let grid: TestGrid
const ask = async (message: string) => {
  const { body } = await post(grid, grid.alice.key, { to: '@bob', message })
  return body.message_id as string
}
const answer = (more: object, key?: string) =>
  post(grid, grid.bob.key, { to: '@alice', message: 'answer', ...more }, key)
const textsOf = (messages: { message: string }[]) => messages.map(({ message }) => message)
const read = async (key: string) => (await callTool(grid, key, 'read_messages')).text

onEachDatabase((openGrid: OpenGrid) => {
  beforeEach(async () => {
    grid = await openGrid()
  })

  test('one call can answer, ack, and lease the next messages', async () => {
    for (const text of ['one', 'two', 'three']) await ask(text)
    const first = (await lease(grid, grid.bob.key, { limit: 1 })).body

    const { status, body } = await answer({ acks: { lease_id: first.lease_id }, next: { limit: 1, seconds: 30 } })

    expect([status, body.recipient, textsOf(body.next.messages), body.next.remaining]).toEqual([
      201,
      '@alice',
      ['two'],
      1,
    ])
    expect(body.next.expires_at).toBe(new Date(grid.clock.now + 30 * second).toISOString())
    expect((await ack(grid, grid.bob.key, first.lease_id)).status).toBe(409)
    expect((await ack(grid, grid.bob.key, body.next.lease_id)).body).toEqual({ acked: 1 })
    expect(textsOf(await read(grid.alice.key))).toEqual(['answer'])
    expect(textsOf(await read(grid.bob.key))).toEqual(['three'])
  })

  test('a refused send leases no next messages, whether it is refused before or at its commit', async () => {
    await ask('one')
    const refused = [
      await answer({ to: '@nobody', next: {} }),
      await answer({ acks: { lease_id: grid.bob.id }, next: {} }),
    ]
    await updateTrial(grid, grid.bob, { used: 1, max: 1, expiresAt: grid.clock.now + day })
    refused.push(await answer({ next: {} }))

    expect(refused.map(({ body }) => body.error.code)).toEqual(['recipient_not_found', 'stale_lease', 'trial_expired'])
    expect(await rows(grid, 'SELECT id FROM leases WHERE account_id = ?', [grid.acme.id])).toEqual([])
    expect((await read(grid.bob.key))[0].redelivered).toBeUndefined()
  })

  test('the response reports an invalid next, and the message is stored', async () => {
    const id = await ask('one')
    const { status, body } = await answer({ next: { message_ids: [id], conversation_id: 'c' } })

    expect([status, body.next.error.code]).toEqual([201, 'invalid_input'])
    expect(textsOf(await read(grid.alice.key))).toEqual(['answer'])
  })

  test('a send can wait for its answer or for the next messages, but not for both', async () => {
    const { status, body } = await answer({ wait_seconds: 1, next: {} })

    expect([status, body.error.code, body.error.message])
      .toEqual([400, 'invalid_input', 'Give wait_seconds or next, not both.'])
    expect(await read(grid.alice.key)).toEqual([])
  })

  test("a repeated send gets the same receipt, and the first send's lease while that lease is open, otherwise a new lease", async () => {
    await ask('one')
    const first = await answer({ next: {} }, 'k')
    await ask('two')
    const again = await answer({ next: { limit: 1 } }, 'k')
    const without = await answer({}, 'k')
    await ack(grid, grid.bob.key, first.body.next.lease_id)
    const other = await answer({ next: {} }, 'k')

    const ids = [first, again, without, other].map(({ body }) => body.message_id)
    expect(ids).toEqual(ids.map(() => first.body.message_id))
    expect(again.body.next).toMatchObject({ lease_id: first.body.next.lease_id, messages: first.body.next.messages })
    expect(without.body.next).toBeUndefined()
    expect(textsOf(other.body.next.messages)).toEqual(['two'])
    expect(other.body.next.lease_id).not.toBe(first.body.next.lease_id)
  })

  test('a lease can ack earlier work first, and leases nothing if the earlier work was released', async () => {
    for (const text of ['one', 'two', 'three']) await ask(text)
    const first = (await lease(grid, grid.bob.key, { limit: 1 })).body
    const acks = { lease_id: first.lease_id }
    const next = (await lease(grid, grid.bob.key, { limit: 1, acks })).body
    const stale = await lease(grid, grid.bob.key, { acks })

    expect(textsOf(next.messages)).toEqual(['two'])
    expect([stale.status, stale.body.error.code]).toEqual([409, 'stale_lease'])
    expect((await ack(grid, grid.bob.key, next.lease_id)).status).toBe(200)
    expect(textsOf(await read(grid.bob.key))).toEqual(['three'])
  })
})

test('a repeat keeps its lease when the response of the first call turns out to be lost', async () => {
  grid = await testGrid()
  await ask('one')
  let lose = () => {}
  const lost = new Promise<boolean>((resolve) => lose = () => resolve(false))
  await request('/api/v1/messages', { to: '@alice', message: 'answer', next: {} }, {
    key: 'k',
    connection: { answerTaken: () => lost },
  })
  const again = await answer({ next: {} }, 'k')

  lose()
  // Waits until the lease would have been released, because this commit comes after such a release.
  await ask('after the loss')

  expect((await ack(grid, grid.bob.key, again.body.next.lease_id)).body).toEqual({ acked: 1 })
})

test('a lease, and a send with next, can wait for messages, and the sent answer is delivered before the wait', async () => {
  grid = await testGrid()
  const idle = followIdle(grid.store)
  const leased = lease(grid, grid.bob.key, { wait_seconds: 50 })
  await idle(1)
  await ask('one')
  const first = (await leased).body
  const answered = answer({ acks: { lease_id: first.lease_id }, next: { wait_seconds: 50 } })
  await idle(1)
  const early = await read(grid.alice.key)
  await ask('two')
  const { body } = await answered

  expect([textsOf(first.messages), textsOf(early), textsOf(body.next.messages)]).toEqual([['one'], ['answer'], ['two']])
})

test.each(['rest', 'mcp'])(
  'over %s, the lease of an answer ends when the waiting caller has received the answer',
  async (door) => {
    grid = await testGrid()
    const idle = followIdle(grid.store)
    await read(grid.alice.key)
    const question = { to: '@alice', message: 'how many?', wait_seconds: 20 }
    const asking = door === 'rest'
      ? post(grid, grid.bob.key, question)
      : callTool(grid, grid.bob.key, 'send_message', question)
    await idle(1)
    await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'three' })
    const asked = await asking
    expect(textsOf('body' in asked ? asked.body.answer.messages : asked.text.answer)).toEqual(['three'])
    await grid.store.drained()

    expect(await rows(grid, 'SELECT id FROM leases WHERE account_id = ?', [grid.acme.id])).toEqual([])
  },
)

test('a waiting lease or next ends when its credential is revoked', async () => {
  grid = await testGrid()
  const idle = followIdle(grid.store)
  const leased = lease(grid, grid.bob.key, { wait_seconds: 50 })
  const answered = answer({ next: { wait_seconds: 50 } })
  await idle(2)
  await reissueKey(grid.acme.store, 'bob')

  expect((await leased).status).toBe(401)
  expect((await answered).body).toMatchObject({ recipient: '@alice', next: { error: { code: 'unauthenticated' } } })
})

test.each(['/api/v1/inbox/leases', '/api/v1/messages'])(
  'a wait at %s leases nothing after its caller disconnects',
  async (path) => {
    grid = await testGrid()
    const idle = followIdle(grid.store)
    const client = new AbortController()
    const wait = { wait_seconds: 50 }
    const body = path.endsWith('leases') ? wait : { to: '@alice', message: 'answer', next: wait }
    const left = request(path, body, { signal: client.signal })
    await idle(1)
    client.abort()
    await left
    await ask('one')

    expect(await read(grid.bob.key)).toMatchObject([{ message: 'one' }])
    expect(
      (await rows(grid, 'SELECT max(release_count) AS n FROM deliveries WHERE account_id = ?', [grid.acme.id]))[0].n,
    )
      .toBe(0)
  },
)

/** Calls the API as @bob over the given connection. */
async function request(
  path: string,
  body: object,
  { key, signal, connection }: { key?: string; signal?: AbortSignal; connection?: Partial<Connection> },
): Promise<Response> {
  const headers = {
    Authorization: `Bearer ${grid.bob.key}`,
    'Content-Type': 'application/json',
    ...(key !== undefined && { 'Idempotency-Key': key }),
  }
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal }
  return await grid.app.request(new URL(path, grid.deps.config.baseUrl).href, init, {
    remoteAddress: '203.0.113.7',
    ...connection,
  })
}
