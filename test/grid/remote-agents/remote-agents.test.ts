import { Buffer } from 'node:buffer'
import type { Actor } from '../../../src/auth/actor.ts'
import { GridError } from '../../../src/errors.ts'
import { setPaused } from '../../../src/grid/remote-agents/manage.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import type { Statement } from '../../../src/store/sql.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Signal } from '../../../src/lib/notifier.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard } from '../../support/guarded.ts'
import { askFor } from '../../support/tasks.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'
import { signedInByEmail } from '../../support/people.ts'
import {
  type Answer,
  messageResult,
  type RemoteAgent,
  remoteAgent,
  type RemoteCall,
  taskResult,
} from '../../support/remote-agent.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

let grid: TestGrid
let remote: RemoteAgent
/** Created with the first step, because a started outbox would soon try messages by itself. */
let outboxes: TestOutboxes | undefined

beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
})
afterEach(async () => {
  await outboxes?.stop()
  outboxes = undefined
  await remote.close()
  await grid.close()
})

async function withRemote(answer: (call: RemoteCall) => Answer, card?: object, more?: object) {
  remote = await remoteAgent(answer, card)
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', {
    alias: 'robot',
    type: 'a2a',
    remoteUrl: remote.url,
    remoteToken: 'secret-of-robot',
    ...more,
  })
}

/** Tries every message that is due now. */
async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  outboxes ??= new TestOutboxes(grid.store)
  await outboxes.run()
  await outboxes.settled()
}

const send = async (message: string, more: object = {}) =>
  (await callTool(grid, grid.alice.key, 'send_message', { to: '@robot', message, ...more })).text
const read = async () => (await callTool(grid, grid.alice.key, 'read_messages')).text
const status = async (id: string) => (await callTool(grid, grid.alice.key, 'message_status', { message_id: id })).text

test('a message reaches the remote agent with its token, and the answer arrives as a reply', async () => {
  await withRemote(() => messageResult('42'))
  const { message_id } = await send('What is 6 times 7?')
  expect((await status(message_id)).delivery).toBe('pending')

  await step()

  const [{ method, params, headers }] = remote.calls
  expect(method).toBe('SendMessage')
  expect(params.message).toMatchObject({ messageId: message_id, parts: [{ text: 'What is 6 times 7?' }] })
  expect(headers).toMatchObject({
    authorization: 'Bearer secret-of-robot',
    'idempotency-key': message_id,
    'a2a-version': '1.0',
  })
  expect(remote.cardHeaders[0].authorization).toBe('Bearer secret-of-robot')
  expect(await read()).toMatchObject([{
    user: '@robot',
    message: '42',
    reply_to_message_id: message_id,
    type: 'agent',
  }])
  const { delivery, timeline } = await status(message_id)
  expect(delivery).toBe('delivered')
  expect(timeline.map(({ event }: { event: string }) => event)).toEqual(['stored', 'sent', 'accepted', 'replied'])
})

test('messages reach a remote agent in order, and a conversation continues in its context', async () => {
  await withRemote(() => messageResult('ok'))
  for (const text of ['one', 'two', 'three']) await send(text)

  await step()
  await step()
  await step()

  expect(remote.calls.map(({ params }) => [params.message!.parts, params.message!.contextId])).toEqual([
    [[{ text: 'one' }], undefined],
    [[{ text: 'two' }], 'remote-context'],
    [[{ text: 'three' }], 'remote-context'],
  ])
})

test('a remote task is polled until it ends, and its artifacts are the answer', async () => {
  let looks = 0
  await withRemote(({ method }) =>
    method === 'SendMessage'
      ? taskResult('t1', 'SUBMITTED')
      : ++looks < 3
      ? taskResult('t1', 'WORKING', { isLook: true })
      : taskResult('t1', 'COMPLETED', {
        isLook: true,
        made: [{ text: 'Do' }, { text: 'ne.' }, { data: { sum: 42 } }],
      })
  )
  const { message_id } = await send('Add')
  await step()
  expect([await read(), (await status(message_id)).delivery]).toEqual([[], 'delivered'])

  for (let n = 0; n < 4; n++) await step(1_000)

  expect(await read()).toMatchObject([{
    message: 'Done.',
    reply_to_message_id: message_id,
    parts: [{ data: { sum: 42 } }],
  }])
  expect(looks).toBe(3)
})

test("a remote agent's question arrives as a message, and the answer continues its task", async () => {
  await withRemote(({ params: { message } }) =>
    message?.taskId === 't1'
      ? taskResult('t1', 'COMPLETED', { said: 'Booked.' })
      : taskResult('t1', 'INPUT_REQUIRED', { said: 'Which day?' })
  )
  await send('Book a table')
  await step()
  const [question] = await read()
  expect(question.message).toBe('Which day?')

  await send('Friday', { reply_to_message_id: question.message_id })
  await step()

  expect(remote.calls[1].params.message).toMatchObject({ taskId: 't1', contextId: 'remote-context' })
  expect(await read()).toMatchObject([{ message: 'Booked.' }])
  // The next message starts a task of its own.
  await send('Thanks')
  await step()
  expect(remote.calls[2].params.message!.taskId).toBeUndefined()
})

test.each([
  ['an HTTP status', { status: 403 }, '403', undefined],
  ['a JSON-RPC error', { error: { code: -32602, message: 'No such\u001b skill' } }, 'refused', 'No such skill'],
])(
  'a refusal by %s is final: the sender is notified, and the next message is sent',
  async (_, refusal, reason, said) => {
    await withRemote(({ params }) => params.message!.parts[0].text === 'bad' ? refusal : messageResult('ok'))
    const { message_id } = await send('bad')
    await send('good')

    await step()
    await step()

    const messages = await read()
    const notice = messages.find(({ type }: { type: string }) => type === 'system')
    expect(notice).toMatchObject({ user: '@robot', reply_to_message_id: message_id })
    expect(notice.message).toContain(reason)
    // The notice does not quote the agent's text.
    expect(notice.message).not.toContain('skill')
    const ofAgent = messages.filter(({ type }: { type: string }) => type === 'agent')
    expect(ofAgent.map(({ message }: { message: string }) => message)).toEqual([...said ? [said] : [], 'ok'])
    const { delivery, timeline } = await status(message_id)
    expect(delivery).toBe('failed')
    expect(timeline).toContainEqual(
      expect.objectContaining({ event: 'failed', reason: expect.stringContaining(said ?? reason) }),
    )
  },
)

const endings = [
  ['FAILED', 'It failed.'],
  ['REJECTED', 'It rejected the message.'],
  ['CANCELED', 'It canceled its work.'],
] as const

test.each(endings)(
  'the sender is notified that a remote task is %s, and a task gets this state',
  async (state, words) => {
    await withRemote(() => taskResult('t1', state, { said: 'no fuel' }))
    await send('Fly')
    const task = await askFor(storeOf(grid, grid.bob), 'Fly', { to: '@robot' })

    await step()
    await step()

    const [said, notice] = await read()
    expect([said.message, notice.type]).toEqual(['no fuel', 'system'])
    expect(notice.message).toBe(`@robot did not receive or answer your message. ${words}`)
    expect((await getTask(storeOf(grid, grid.bob), task.id)).status.state).toBe(state.toLowerCase())
  },
)

test('the timeline of a message that its agent answers immediately is in order', async () => {
  await withRemote(() => messageResult('ok'))
  const { message_id } = await send('hello')
  let { now } = grid.clock
  Object.defineProperty(grid.clock, 'now', { get: () => ++now })

  outboxes = new TestOutboxes(grid.store)
  await outboxes.run()
  await outboxes.settled()

  const { timeline } = await status(message_id)
  expect(timeline.map(({ event }: { event: string }) => event)).toEqual(['stored', 'sent', 'accepted', 'replied'])
})

test('canonical base64 is forwarded, and invalid base64 is refused with its path', async () => {
  const [good, bad] = ['-_8', 'not base64!']
  await withRemote(({ params: { message } }) =>
    taskResult('t1', 'COMPLETED', {
      made: [{ text: 'Here' }, { raw: message!.parts[0].text === 'good' ? good : bad, filename: 'a.bin' }],
    })
  )
  await send('good')
  await send('bad')
  await step()
  await step()

  expect(await read()).toMatchObject([
    { message: 'Here', parts: [{ raw: '+/8=', filename: 'a.bin' }] },
    {
      type: 'system',
      message: expect.stringContaining(
        'It answered with a file that is not base64: result.task.artifacts[0].parts[1].raw.',
      ),
    },
  ])
})

test('another sender cannot join a conversation by naming it', async () => {
  await withRemote(() => taskResult('t1', 'INPUT_REQUIRED', { said: 'Approve?' }))
  await send('Pay')
  await step()
  const { body } = await callRest(grid, grid.bob.key, 'POST /api/v1/messages', {
    ...{ to: '@robot', message: 'yes', conversation_id: 'alice' },
  })
  expect(body.message_id).toBeDefined()

  await step()

  expect(remote.calls).toHaveLength(2)
  expect(remote.calls[1].params.message).toMatchObject({ parts: [{ text: 'yes' }] })
  expect(remote.calls[1].params.message!.taskId).toBeUndefined()
  expect(remote.calls[1].params.message!.contextId).toBeUndefined()
})

test('the sender is notified of a failure whose text is too long or blocked', async () => {
  await withRemote(() => taskResult('t1', 'FAILED', { said: `swordfish ${'x'.repeat(20_000)}` }))
  const { message_id } = await send('one')
  await step()
  await guard(grid.acme, 'alice', { direction: 'inbound', action: 'block' })
  await send('two')
  await step()

  const failed = (await timeline(message_id)).find(([event]: string[]) => event === 'failed')
  expect(failed![1].length).toBeLessThan(250)
  const messages = await read()
  const types = messages.map(({ type }: { type: string }) => type)
  expect(types).toEqual(['agent', 'system', 'system'])
})

test('two remote agents that refuse do not notify each other', async () => {
  await withRemote(() => ({ status: 401 }))
  const other = await grid.acme.agent('other-robot', { type: 'a2a', remoteUrl: remote.url })
  await callTool(grid, other.key, 'send_message', { to: '@robot', message: 'hi' })

  for (let n = 0; n < 6; n++) await step(10_000)

  expect(remote.calls).toHaveLength(1)
})

test('a failing server is tried again later with the same ids, and given up after a day', async () => {
  await withRemote(() => ({ status: 503 }))
  const { message_id } = await send('hello')
  await send('later')

  await step()
  const [second, minute, hour] = [1_000, 60_000, 3_600_000]
  for (const [n, pause] of [5 * second, 30 * second, 2 * minute, 10 * minute, hour, hour, hour].entries()) {
    await step(pause - 1)
    expect(remote.calls).toHaveLength(n + 1)
    await step(1)
    expect(remote.calls).toHaveLength(n + 2)
  }
  expect(new Set(remote.calls.map(({ params }) => params.message!.messageId))).toEqual(new Set([message_id]))

  for (let n = 0; n < 24; n++) await step(hour)
  const [notice] = await read()
  expect(notice).toMatchObject({ type: 'system', reply_to_message_id: message_id })
  expect(notice.message).toContain('24 hours')
})

/** Makes units that contain `sql` fail until the returned function is called. */
function failing(sql: string, error = new Error('not stored')): () => void {
  const { account } = grid.store
  const opened = account.bind(grid.store)
  const isMeant = (statements: { sql: string }[]) => statements.some((statement) => statement.sql.includes(sql))
  Object.assign(grid.store, {
    account(id: string, actor: Actor): AccountStore {
      const { write, ...rest } = opened(id, actor)
      const refuse = (statements: Statement[]) => isMeant(statements) ? Promise.reject(error) : write(statements)
      return { ...rest, write: refuse }
    },
  })
  return () => Object.assign(grid.store, { account })
}

test.each([
  ['an answer', () => messageResult('42'), '42'],
  ['a question', () => taskResult('t1', 'INPUT_REQUIRED', { said: 'Which?' }), 'Which?'],
])('if the unit after %s is lost, the answer is stored once and delivery continues', async (_, answer, text) => {
  await withRemote(answer)
  await send('What is 6 times 7?')
  const restore = failing('INSERT INTO remote_tasks')
  await step()
  restore()

  await step(10_000)
  await step(10_000)

  expect(remote.calls.length).toBeGreaterThan(1)
  expect((await read()).map(({ message }: { message: string }) => message)).toEqual([text])
})

test('a different answer after a lost unit is not delivered, and does not count as a failure', async () => {
  let answers = 0
  await withRemote(() => messageResult(`answer ${++answers}`))
  const { message_id } = await send('What is 6 times 7?')
  const restore = failing('INSERT INTO remote_tasks')
  await step()
  restore()
  await step(10_000)

  expect(answers).toBe(2)
  expect((await read()).map(({ message }: { message: string }) => message)).toEqual(['answer 1'])
  expect((await timeline(message_id)).map(([event]: string[]) => event)).not.toContain('failed')
})

test.each(['storage_full', 'unavailable', 'guardrail_unavailable'] as const)(
  'an answer that temporarily cannot be stored (%s) is stored later',
  async (code) => {
    await withRemote(() => messageResult('42'))
    await send('What is 6 times 7?')
    const restore = failing('INSERT INTO messages', new GridError(code, 'Try again.'))
    await step()
    restore()
    expect(await read()).toEqual([])

    await step(10_000)

    expect((await read()).map(({ message }: { message: string }) => message)).toEqual(['42'])
  },
)

test('a remote agent gets a 1 MiB file, and the sender is notified about a larger one', async () => {
  await withRemote(() => messageResult('ok'))
  const file = async (bytes: number) => {
    const { body } = await callRest(grid, grid.alice.key, 'POST /api/v1/parts', { bytes })
    const headers = { Authorization: `Bearer ${grid.alice.key}`, 'Content-Type': 'application/octet-stream' }
    const path = `/api/v1/parts/${body.upload_id}?offset=0`
    expect((await grid.request(path, { method: 'PUT', headers, body: Buffer.alloc(bytes, 7) })).status).toBe(200)
    return { upload_id: body.upload_id }
  }
  await send('fits', { parts: [await file(2 ** 20)] })
  const { message_id } = await send('is too long', { parts: [await file(2 ** 20 + 1)] })
  await step()
  await step()

  const got = remote.calls.map(({ params }) => params.message!.parts)
  expect(got).toEqual([[
    { text: 'fits' },
    expect.objectContaining({ raw: Buffer.alloc(2 ** 20, 7).toString('base64') }),
  ]])
  const notice = (await read()).find(({ type }: { type: string }) => type === 'system')
  expect(notice).toMatchObject({
    reply_to_message_id: message_id,
    message: expect.stringContaining('can have at most 1048576 bytes, and one has 1048577.'),
  })
})

test('a failure that cannot be stored does not block delivery', async () => {
  await withRemote(({ params }) => params.message!.parts[0].text === 'bad' ? { status: 403 } : messageResult('ok'))
  await send('bad')
  await send('good')
  const restore = failing("SET state = 'parked'")
  await step()
  restore()

  for (let n = 0; n < 3; n++) await step(10_000)

  expect((await read()).map(({ message }: { message: string }) => message)).toContain('ok')
})

test('a process does not send from an outbox that another process of the same database has claimed', async () => {
  await withRemote(() => messageResult('42'))
  await send('hello')
  const other = 'b'.repeat(36)
  await grid.store.write([
    {
      sql: `INSERT INTO instances (id, heartbeats, created_at, present, ring) VALUES (?, 1, 0, '{}', '[]')`,
      args: [other],
    },
    { sql: 'UPDATE remote_outboxes SET claimed_by = ? WHERE account_id = ?', args: [`${other} 1`, grid.acme.id] },
  ])

  await step()
  expect(remote.calls).toHaveLength(0)

  await grid.store.write([{ sql: 'DELETE FROM instances WHERE id = ?', args: [other] }])
  await step()
  expect(remote.calls).toHaveLength(1)
})

test('a failure that the database did not store does not prevent the next attempt', async () => {
  await withRemote(() => ({ status: 503 }))
  await send('hello')
  const restore = failing('unanswered = unanswered +')
  await step()
  restore()
  await grid.store.drained()
  await step(60_000)

  expect(remote.calls).toHaveLength(2)
})

test('a card is fetched again after an hour, and the old card stays valid if the new card is unreachable, but not if the new card is refused', async () => {
  await withRemote(() => messageResult('ok'))
  const { port } = new URL(remote.url)
  /** Sends a message after `ms`. Returns whether the grid fetched the card for the message. */
  const isReadAfter = async (ms: number) => {
    const before = remote.cardHeaders.length
    grid.clock.now += ms
    await send('hello')
    await step()
    return remote.cardHeaders.length > before
  }
  expect(await isReadAfter(3_599_999)).toBe(false)
  expect(await isReadAfter(1)).toBe(true)
  expect(await isReadAfter(1)).toBe(false)

  const restart = async (card: object | ((url: string) => object)) => {
    await remote.close()
    remote = await remoteAgent(() => messageResult('ok'), card, Number(port))
  }
  await restart(() => ({}))
  expect(await isReadAfter(3_600_000)).toBe(true)
  expect(remote.calls).toHaveLength(1)
  const elsewhere = { url: 'http://127.0.0.1:1025/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
  await restart({ supportedInterfaces: [elsewhere] })
  await send('refused')
  await step()
  expect(remote.calls).toEqual([])
  expect((await read()).at(-1).message).toContain('names endpoints on another server only')
})

test('resuming a remote agent does not affect failing messages to another one', async () => {
  await withRemote(() => ({ status: 503 }))
  await grid.acme.agent('paused-robot', { type: 'a2a', remoteUrl: remote.url })
  await send('hello')
  await step()
  await step(5_000)
  await setPaused(grid.acme.store, 'paused-robot', true)
  await setPaused(grid.acme.store, 'paused-robot', false)
  await step()

  expect(remote.calls).toHaveLength(2)
})

test("an endpoint on a server other than the card's is not used, and gets no token", async () => {
  const other = await remoteAgent(() => messageResult('mine'))
  await withRemote(() => messageResult('ok'), {
    supportedInterfaces: [{ url: `${other.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  })
  await send('hello')

  await step()

  expect((await read())[0].message).toContain(`names endpoints on another server only: ${other.url}`)
  expect([other.calls.length, remote.calls.length]).toEqual([0, 0])
  await other.close()
})

test("a remote agent's answers pass the reader's guardrails", async () => {
  await withRemote(() => messageResult('The word is swordfish'))
  await guard(grid.acme, 'alice', { direction: 'inbound', action: 'block' })
  const { message_id } = await send('hello')

  await step()

  expect(await read()).toEqual([])
  expect((await status(message_id)).delivery).toBe('delivered')
  expect(remote.calls).toHaveLength(1)
  await step(3_600_000)
  expect(remote.calls).toHaveLength(1)
})

test('a remote agent gets the hop count, and its answer continues the count', async () => {
  await withRemote(() => messageResult('ok'))
  await send('hello')
  await step()
  const [answer] = await read()

  await send('again', { reply_to_message_id: answer.message_id })
  await step()

  expect(remote.calls.map(({ params }) => params.message!.metadata)).toMatchObject([{ hops: 0 }, { hops: 2 }])
  expect(answer.hops).toBe(1)
})

test("a remote agent's page shows its card and why messages wait, and has a button that sends them immediately", async () => {
  let isDown = true
  await withRemote(() => isDown ? { status: 503 } : messageResult('ok'))
  await send('hello')
  await step()
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const path = `/accounts/${grid.acme.id}/agents/robot`
  const { text } = await ann.open(path)
  // The page shows the agent's failure above its static facts.
  expect(text).toMatch(
    /Remote agent .*It answered 503\. It has been failing for 0 ms, 1 attempt\..* About Now failing for 0 min/,
  )
  expect(text).toContain('A2A 1.0, JSONRPC')
  expect(text).toContain('Time limit 10 min')

  isDown = false
  await ann.submit(path, {}, `${path}/try-now`)
  await step()

  expect((await read())[0].message).toBe('ok')
})

test('creating a remote agent returns its card, or says that there is none', async () => {
  await withRemote(() => messageResult('ok'))
  const create = async (alias: string, remoteUrl: string) =>
    (await callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias, type: 'a2a', remoteUrl })).text

  expect(await create('robot-two', remote.url)).toMatchObject({
    agent: { alias: '@robot-two' },
    card: { name: 'Remote', skills: [{ name: 'Adding' }], endpoint: { version: '1.0' } },
  })
  expect(await create('robot-three', 'http://127.0.0.1:1025/')).toMatchObject({
    agent: { alias: '@robot-three' },
    problem: expect.stringContaining('No card was found'),
  })
})

test("the messages of other accounts' agents to a remote agent are limited per hour, but its own account's are not", async () => {
  await withRemote(() => messageResult('ok'), {}, { visibility: 'public' })
  const frank = await grid.evil.agent('frank')
  const strangers = [grid.eve, frank]
  for (let n = 0; n < 60; n++) {
    const sent = await callTool(grid, strangers[n % 2].key, 'send_message', { to: '@robot', message: `${n}` })
    expect(sent.text.message_id).toBeDefined()
    grid.clock.now += 1_000
  }

  const refused = await callRest(grid, frank.key, 'POST /api/v1/messages', { to: '@robot', message: 'more' })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, `${3_600 - 60}`])
  expect(refused.body.error).toMatchObject({
    code: 'quota_exceeded',
    message: expect.stringMatching(
      /^Agents of other accounts have sent 60 messages to @robot.*Try again in 59 minutes/,
    ),
  })
  expect((await send('mine')).message_id).toBeDefined()
  const another = {
    alias: 'robot-two',
    type: 'a2a',
    visibility: 'public',
    remoteUrl: remote.url,
    remoteToken: 'secret',
  }
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', another)
  expect((await callTool(grid, frank.key, 'send_message', { to: '@robot-two', message: 'hi' })).text.message_id)
    .toBeDefined()
  grid.clock.now += 3_600_000 - 60_000
  expect((await callTool(grid, frank.key, 'send_message', { to: '@robot', message: 'later' })).text.message_id)
    .toBeDefined()
})

test('a remote agent without a token has no hourly limit for other accounts', async () => {
  remote = await remoteAgent(() => messageResult('ok'))
  const open = { alias: 'open-robot', type: 'a2a', visibility: 'public', remoteUrl: remote.url }
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', open)

  for (let n = 0; n < 61; n++) {
    const sent = await callTool(grid, grid.eve.key, 'send_message', { to: '@open-robot', message: `${n}` })
    expect(sent.text.message_id).toBeDefined()
  }
})

const timeline = async (id: string) =>
  (await status(id)).timeline.map(({ event, ...more }: Record<string, unknown>) => [
    event,
    ...['attempt', 'reason'].flatMap((name) => more[name] ?? []),
  ])

test("a message's timeline shows how often it was sent to a remote agent, and its progress", async () => {
  let answer: Answer = { status: 503 }
  await withRemote(({ params }) => params.message?.parts[0].text === 'behind it' ? messageResult('ok') : answer)
  const { message_id } = await send('hello')
  const { message_id: next } = await send('behind it')
  expect(await timeline(message_id)).toEqual([['stored']])

  await step()
  await step(5_000)
  expect(await timeline(message_id)).toEqual([['stored'], ['sent', 2, 'It answered 503.']])
  expect(await timeline(next)).toEqual([['stored']])

  answer = taskResult('t1', 'WORKING')
  await step(30_000)
  expect(await timeline(message_id)).toEqual([['stored'], ['sent', 3], ['accepted'], ['working']])

  answer = { status: 500 }
  await step(1_000)
  expect((await timeline(message_id)).at(-1)).toEqual(['working', 'It answered 500.'])

  answer = taskResult('t1', 'FAILED', { isLook: true, said: 'no fuel' })
  // A failing server gets one request at a time, so this takes two steps.
  await step(5_000)
  await step()
  const all = await timeline(message_id)
  expect(all.slice(0, 3)).toEqual([['stored'], ['sent', 3], ['accepted']])
  expect(all).toContainEqual(['failed', 'It failed. "no fuel"'])
  await followLog(grid.store)
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const { text } = await ann.open(`/accounts/${grid.acme.id}/messages/${message_id}`)
  for (const told of ['sent, attempt 3', 'accepted', 'failed: It failed. "no fuel"']) {
    expect(text).toContain(told)
  }
})

test('while a remote agent is paused, nothing is sent, accepted messages are polled, and people are notified', async () => {
  await withRemote(({ method }) =>
    method === 'SendMessage' ? taskResult('t1', 'WORKING') : taskResult('t1', 'COMPLETED', { isLook: true, said: 'ok' })
  )
  await send('one')
  await step()
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const path = `/accounts/${grid.acme.id}/agents/robot`
  await ann.submit(path, { paused: 'yes' }, `${path}/pause`)

  const { message_id, recipient_presence } = await send('two')
  await step(1_000)

  expect(recipient_presence).toBe('remote, paused')
  expect(remote.calls.map(({ method }) => method)).toEqual(['SendMessage', 'GetTask'])
  expect((await read()).map(({ message }: { message: string }) => message)).toEqual(['ok'])
  expect((await status(message_id)).delivery).toBe('pending')
  expect((await ann.open(path)).text).toContain('Paused since')
  expect((await ann.open(`/accounts/${grid.acme.id}/attention`)).text).toContain('@robot is paused')

  await ann.submit(path, { paused: 'no' }, `${path}/pause`)
  await step()
  expect(remote.calls.at(-1)!.params.message).toMatchObject({ messageId: message_id })
})

test('the time of a pause does not count as failing time', async () => {
  let answer: Answer = { status: 503 }
  await withRemote(() => answer)
  const { message_id } = await send('hello')
  await step()
  const [{ id }] = await grid.acme.store.read.agents.byRefs([], ['robot'])
  const { change } = grid.acme.store
  await grid.acme.store.write([change.remoteAgents.pause(id, grid.clock.now)])
  await step(48 * 3_600_000)
  await grid.acme.store.write(change.remoteAgents.resume(id, grid.clock.now))
  await step()
  expect((await status(message_id)).delivery).toBe('pending')

  answer = messageResult('ok')
  await step(5_000)
  expect((await status(message_id)).delivery).toBe('delivered')
})

test('Attention shows an agent that fails three times in a row, and parked messages with their reason', async () => {
  await withRemote(() => ({ status: 503 }))
  await send('hello')
  const attention = async () => {
    const ann = await signedInByEmail(grid, 'ann@acme.example')
    return (await ann.open(`/accounts/${grid.acme.id}/attention`)).text
  }
  const listed = async () => {
    const { text } = await callTool(grid, grid.alice.key, 'list_agents', { search: 'robot' })
    return (text.agents ?? text).find(({ alias }: { alias: string }) => alias === '@robot').presence
  }
  expect([(await send('hello')).recipient_presence, await listed()]).toEqual(['remote', 'remote'])
  await step()
  await step(5_000)
  expect(await attention()).not.toContain('@robot')
  await step(60_000)
  expect(await attention()).toContain('Messages to @robot have been failing for 1 min')

  await step(3_600_000)
  expect(await attention()).toContain('It answered 503.')
  expect(await attention()).not.toContain('has not read')
  expect([(await send('more')).recipient_presence, await listed()])
    .toEqual(['remote, failing for 1 h', 'remote, failing for 1 h'])

  for (let hour = 0; hour < 25; hour++) await step(3_600_000)
  expect(await attention()).toContain('1 message to @robot is parked')
  expect(await attention()).toContain('It has failed for 24 hours.')
})

test('a long remote task is polled every 2 s while its sender waits', async () => {
  await withRemote(({ method }) => taskResult('t1', 'WORKING', { isLook: method === 'GetTask' }))
  await send('Build a house')
  await step()
  const looksIn = async (seconds: number) => {
    const before = remote.calls.length
    for (let second = 0; second < seconds; second++) await step(1_000)
    return remote.calls.length - before
  }
  await step(300_000)
  expect(await looksIn(20)).toBeLessThanOrEqual(1)
  const stop = grid.store.waiting.notifier.subscribe(grid.alice.id, new Signal())
  await step(30_000)
  expect(await looksIn(20)).toBe(10)
  stop()
})
