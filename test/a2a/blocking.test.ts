/** Calls that wait for an agent's answer, and calls that do not. See docs/protocol/a2a.md, "Confirmation or task". */
import { expect, test } from 'vitest'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { ackMessages, leaseMessages } from '../../src/grid/messaging/timed-leases.ts'
import { waitForMessages } from '../../src/grid/messaging/wait-for-messages.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import type { CallersWait } from '../../src/store/account/agents.ts'
import { endpoint, endpointOf, inboxOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { isSettled, waitFor } from '../support/wait-for.ts'

const awaitReply = { 'A2A-Extensions': 'http://localhost:8787/a2a/ext/await-reply/v1' }

let grid: TestGrid
let bobs: string
const open = async (callersWait: CallersWait) => {
  grid = await testGrid()
  bobs = endpointOf(grid.bob)
  await updateAgent(grid.acme.store, { agent: 'bob', callersWait })
}

test('a send waits for the answer of a connected agent', async () => {
  await open('auto')
  for (const send of [send10, send03]) {
    const read = waitForMessages(storeOf(grid, grid.bob), {}, { seconds: 30 })
    const answer = post(send({ metadata: undefined }), bobs)
    const { messages: [{ task_id }] } = await read
    expect(await isSettled(answer)).toBe(false)
    await bob({ taskId: task_id, text: 'done' })

    const { result } = (await answer).body
    const task = result.task ?? result
    expect(task.status.state).toMatch(/completed$/i)
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'done' }] }])
  }
})

test('a send does not wait for a disconnected agent', async () => {
  await open('auto')

  expect(stateOf(await post(send10({ metadata: undefined }), bobs))).toBe('TASK_STATE_SUBMITTED')
  expect(stateOf(await post(send10(), endpoint, awaitReply))).toBe('TASK_STATE_SUBMITTED')
})

test('a send waits while the agent works on leased messages, but not after it has acknowledged them', async () => {
  await open('auto')
  await post(send10(), bobs)
  const { leaseId } = await leaseMessages(storeOf(grid, grid.bob), {})
  const answer = post(send10({ parts: [{ text: 'another' }] }), bobs)
  // Bob is still working on the first task's lease.
  const id = await newest()
  expect(await isSettled(answer)).toBe(false)
  await bob({ taskId: id, text: 'done' })
  expect(stateOf(await answer)).toBe('TASK_STATE_COMPLETED')

  await ackMessages(storeOf(grid, grid.bob), { leaseId: leaseId! })
  expect(stateOf(await post(send10(), bobs))).toBe('TASK_STATE_SUBMITTED')

  // An expired lease does not count as work, even before it is released.
  await leaseMessages(storeOf(grid, grid.bob), { seconds: 30 })
  grid.clock.now += 31_000
  expect(stateOf(await post(send10(), bobs))).toBe('TASK_STATE_SUBMITTED')
})

test("whether a send waits for another account's agent depends on that agent's setting", async () => {
  await open('yes')
  await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public' })
  const answer = postA2a(grid, grid.eve.key, send10(), {}, bobs)
  const [{ task_id }] = await waitFor('the message', async () => {
    const messages = await inboxOf(grid, grid.bob)
    return messages.length > 0 && messages
  })
  expect(await isSettled(answer)).toBe(false)
  await bob({ taskId: task_id, text: 'done' })

  expect(stateOf(await answer)).toBe('TASK_STATE_COMPLETED')
})

test('a send never waits for an agent whose setting forbids it, even while the agent is connected', async () => {
  await open('no')
  const read = waitForMessages(storeOf(grid, grid.bob), {}, { seconds: 30 })

  expect(stateOf(await post(send10(), bobs))).toBe('TASK_STATE_SUBMITTED')
  expect((await read).messages).toHaveLength(1)
})

test('a send waits for an agent whose setting requires it, on the shared endpoint only with the extension', async () => {
  await open('yes')
  const calls: [string, Record<string, string>][] = [[bobs, {}], [endpoint, awaitReply]]
  for (const [path, headers] of calls) {
    const answer = post(send10(), path, headers)
    const id = await newest()
    expect(await isSettled(answer)).toBe(false)
    await bob({ taskId: id, state: 'input-required', text: 'Which?' })
    expect(stateOf(await answer)).toBe('TASK_STATE_INPUT_REQUIRED')

    // A follow-up message to the task waits too.
    const more = post(send10({ taskId: id, metadata: undefined }), path)
    await waitFor('the further message', async () => (await inboxOf(grid, grid.bob)).length > 0)
    expect(await isSettled(more)).toBe(false)
    await bob({ taskId: id, state: 'failed', text: 'No.' })
    expect(stateOf(await more)).toBe('TASK_STATE_FAILED')
  }
})

test('a send that asks for an immediate response, or that gets only a confirmation, never waits', async () => {
  await open('yes')

  expect(stateOf(await post(send10({}, { configuration: { returnImmediately: true } }), bobs))).toBe(
    'TASK_STATE_SUBMITTED',
  )
  expect(stateOf(await post(send03({}, { configuration: { blocking: false } }), bobs))).toBe('submitted')
  expect(stateOf(await post(send10(), bobs, { Prefer: 'wait=0' }))).toBe('TASK_STATE_SUBMITTED')
  expect((await post(send03({}, { configuration: { blocking: true } }))).body.result.kind).toBe('message')
})

test.each(['wait=1', 'respond-async, wait = 1', 'WAIT="1"'])(
  'the header Prefer: %s shortens the wait, and the task continues',
  async (prefer) => {
    await open('yes')
    const answer = await post(send10(), bobs, { Prefer: prefer })
    const { id } = answer.body.result.task
    await bob({ taskId: id, text: 'late' })

    expect(stateOf(answer)).toBe('TASK_STATE_SUBMITTED')
    expect((await post(request('GetTask', { id }))).body.result.status.state).toBe('TASK_STATE_COMPLETED')
  },
)

test('a waiting send does not reveal the answer if its credential is revoked', async () => {
  await open('yes')
  const answer = post(send10(), bobs)
  const id = await newest()
  await grid.store.write([{
    sql: 'UPDATE credentials SET revoked_at = 1 WHERE account_id = ? AND agent_id = ?',
    args: [grid.acme.id, grid.alice.id],
  }])
  await bob({ taskId: id, text: 'for Alice alone' })

  const { status, body } = await answer
  expect([status, JSON.stringify(body).includes('for Alice alone')]).toEqual([401, false])
})

/** Resolves to the id of Alice's newest open task, once such a task exists. */
async function newest(): Promise<string> {
  return await waitFor('a task', async () => {
    const { tasks } = (await post(request('ListTasks', { status: 'TASK_STATE_SUBMITTED' }))).body.result
    return tasks[0]?.id
  })
}

function stateOf({ body: { result } }: Awaited<ReturnType<typeof postA2a>>): string {
  return (result.task ?? result).status.state
}

function bob(update: Parameters<typeof updateTask>[1]) {
  return updateTask(storeOf(grid, grid.bob), update)
}

function post(body: unknown, path: string = endpoint, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers, path)
}
