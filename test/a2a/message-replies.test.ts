/** Agents whose plain replies are returned as messages over A2A. See docs/protocol/a2a.md, "Message replies". */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../src/auth/actor.ts'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { endpoint, endpointOf, inboxOf, openA2aStream, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { isSettled, waitFor } from '../support/wait-for.ts'

let grid: TestGrid
let bobs: string
beforeEach(async () => {
  grid = await testGrid()
  bobs = endpointOf(grid.bob)
  await updateAgent(grid.acme.store, { agent: 'bob', messageReplies: true, callersWait: 'yes' })
})

const plain = { metadata: undefined }
const stream10 = (params: object = {}) => ({ ...send10(plain, { ...params }), method: 'SendStreamingMessage' })
const stream03 = () => ({ ...send03(plain), method: 'message/stream' })
const atOnce = { configuration: { returnImmediately: true } }

test('a waiting send gets only the plain reply, and its task is stored', async () => {
  const answer = post(send10({ ...plain, contextId: 'mine' }))
  const { messageId, taskId } = await received()
  expect(await isSettled(answer)).toBe(false)
  const id = await reply('Hello yourself', messageId)

  expect((await answer).body.result).toEqual({
    message: { messageId: id, role: 'ROLE_AGENT', parts: [{ text: 'Hello yourself' }], contextId: 'mine', taskId },
  })
  expect((await get(taskId)).status.state).toBe('TASK_STATE_COMPLETED')
  expect((await get(taskId)).artifacts).toMatchObject([{ parts: [{ text: 'Hello yourself' }] }])
})

test('a plain reply is the same message in 0.3, with a tenant and over HTTP+JSON', async () => {
  const answer03 = post(send03(plain))
  await reply('one')
  expect((await answer03).body.result).toMatchObject({ kind: 'message', role: 'agent', parts: [{ text: 'one' }] })

  const ofTenant = post(send10(plain, { tenant: 'bob' }), endpoint)
  await reply('two')
  expect((await ofTenant).body.result.message.parts).toEqual([{ text: 'two' }])

  const overHttp = post(send10(plain).params, `${bobs}/message:send`)
  await reply('three')
  expect((await overHttp).body.message.parts).toEqual([{ text: 'three' }])
})

test('a stream sends no event before the plain reply, which is its only event', async () => {
  for (const body of [stream10(), stream03()]) {
    const stream = await openStream(body)
    expect(await stream.nextItem()).toEqual({ comment: 'heartbeat' })
    const event = stream.next()
    const { messageId } = await received()
    expect(await isSettled(event)).toBe(false)
    await reply('Hello', messageId)

    const { id, result } = (await event)!
    expect(id).toBeUndefined()
    expect((result.message ?? result).parts).toMatchObject([{ text: 'Hello' }])
    expect(await stream.rest()).toEqual([])
  }
})

test('a reply with update_task is returned as a task, and a stream gets the task and all its events', async () => {
  const answer = post(send10(plain))
  await bob({ ...await received(), text: 'done' })
  expect((await answer).body.result.task.artifacts).toMatchObject([{ parts: [{ text: 'done' }] }])

  const stream = await openStream(stream10())
  await bob({ ...await received(), text: 'done' })
  expect((await stream.rest()).map(({ id, result }) => [id, Object.keys(result)[0]])).toEqual([
    [1, 'task'],
    [2, 'statusUpdate'],
    [3, 'artifactUpdate'],
    [4, 'statusUpdate'],
  ])
})

test("a plain reply after any update_task becomes the task's result, even if the update caused no event", async () => {
  const answer = post(send10(plain))
  const first = await received()
  await bob({ ...first, state: 'working' })
  await reply('Done now', first.messageId)
  expect((await answer).body.result.task.artifacts).toMatchObject([{ parts: [{ text: 'Done now' }] }])

  const stream = await openStream(stream10())
  const { messageId, ...task } = await received()
  await bob({ ...task, state: 'working' })
  expect((await stream.next())!.result.task.id).toBe(task.taskId)
  await reply('Done now', messageId)
  expect((await stream.rest()).map(({ id }) => id)).toEqual([2, 3, 4])
})

test('a send that asks for an immediate response gets the task, and a later reply is its result', async () => {
  const { task } = (await post(send10(plain, atOnce))).body.result
  expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
  await reply('late')
  expect((await get(task.id)).artifacts).toMatchObject([{ parts: [{ text: 'late' }] }])

  const stream = await openStream(stream10(atOnce))
  expect((await stream.next())!.result.task.status.state).toBe('TASK_STATE_SUBMITTED')
  await reply('later')
  expect((await stream.rest()).map(({ id }) => id)).toEqual([2, 3, 4])
})

test('after the timeout, a send gets the task, and retries of the send get it too', async () => {
  const wait = { Prefer: 'wait=1' }
  const key = { ...wait, 'Idempotency-Key': 'one' }
  const { task } = (await post(send10(plain), bobs, key)).body.result
  expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
  await reply('late')
  expect((await post(send10(plain), bobs, key)).body.result.task.status.state).toBe('TASK_STATE_COMPLETED')

  const stream = await openStream(stream10(), wait)
  expect((await stream.next())!.result.task.status.state).toBe('TASK_STATE_SUBMITTED')
  await reply('late')
  expect((await stream.rest()).map(({ id }) => id)).toEqual([2, 3, 4])
})

test('a send retried with the same idempotency key gets the same message', async () => {
  const key = { 'Idempotency-Key': 'one' }
  const answer = post(send10(plain), bobs, key)
  await reply('Hello')
  const { result } = (await answer).body

  expect(result.message.parts).toEqual([{ text: 'Hello' }])
  expect((await post(send10(plain), bobs, key)).body.result).toEqual(result)
})

test('a send whose task is canceled gets the task', async () => {
  const answer = post(send10(plain))
  const { taskId } = await received()
  await post(request('CancelTask', { id: taskId }))

  expect((await answer).body.result.task.status.state).toBe('TASK_STATE_CANCELED')
})

test("the shared endpoint still returns confirmations, and other agents' replies are still returned as tasks", async () => {
  expect((await post(send10(), endpoint)).body.result.message.parts).toEqual([{ text: 'Message delivered to @bob' }])
  await inboxOf(grid, grid.bob)

  await updateAgent(grid.acme.store, { agent: 'bob', messageReplies: false })
  const answer = post(send10(plain))
  await reply('Hello')
  expect((await answer).body.result.task.artifacts).toMatchObject([{ parts: [{ text: 'Hello' }] }])
  // The reply is in the task, not in the inbox.
  expect(await inboxOf(grid, grid.alice)).toEqual([])
})

test('a stream that waits for the reply does not send it if the credential is revoked', async () => {
  const stream = await openStream(stream10())
  await stream.nextItem()
  const { messageId } = await received()
  await grid.store.write([{
    sql: 'UPDATE credentials SET revoked_at = 1 WHERE account_id = ? AND agent_id = ?',
    args: [grid.acme.id, grid.alice.id],
  }])
  await reply('for Alice alone', messageId)

  const told = []
  for (let item; (item = await stream.nextItem()) !== undefined;) told.push(item)
  expect(JSON.stringify(told)).not.toContain('for Alice alone')
})

/** Waits for Bob's next message. Resolves to the ids of the message and its task. */
async function received(): Promise<{ messageId: string; taskId: string }> {
  const { message_id, task_id } = await waitFor('a message', async () => (await inboxOf(grid, grid.bob)).at(0))
  return { messageId: message_id, taskId: task_id! }
}

/** Bob answers a message, by default the next one, with `send_message`. Returns the reply's id. */
async function reply(text: string, messageId?: string): Promise<string> {
  const store = storeOf(grid, grid.bob)
  const replyToMessageId = messageId ?? (await received()).messageId
  return (await sendMessage(store, callingAgent(store.actor), { to: '@alice', text, replyToMessageId })).id
}

function bob({ taskId, state, text }: Parameters<typeof updateTask>[1]) {
  return updateTask(storeOf(grid, grid.bob), { taskId, state, text })
}

async function get(id: string) {
  return (await post(request('GetTask', { id }))).body.result
}

function openStream(body: unknown, headers?: Record<string, string>) {
  return openA2aStream(grid, grid.alice.key, body, { path: bobs, headers })
}

function post(body: unknown, path = bobs, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers, path)
}
