/**
 * What a real peer or an official suite of A2A notices, as a list of numbers: sends and envelopes. The rest is in
 * `checklist-tasks.test.ts`; 15 (push) and 19 (outbound) are not built, 17 (cards) is in `cards/`.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { updateTrial } from '../support/database.ts'
import { endpoint, inboxOf, postA2a, request, send03, send10, storeOf } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

/** Both endpoints, with and without the slash at the end. */
const endpoints = [endpoint, `${endpoint}/`, '/a2a/v1/agents/bob', '/a2a/v1/agents/bob/']

test('20: a trial that is used up and a guardrail refuse without a trace', async () => {
  await updateTrial(grid, grid.alice, { used: 10, max: 10, expiresAt: grid.clock.now + 1_000 })

  for (const path of endpoints) {
    expect((await post(send03(), path)).body.error).toMatchObject({
      code: -32051,
      data: [{ reason: 'TRIAL_EXHAUSTED' }],
    })
  }
  expect(await inboxOf(grid, grid.bob)).toEqual([])
  expect((await post(request('ListTasks'))).body.result.tasks).toEqual([])
})

test('20: a message that is refused changes no task, neither of its sender nor of its recipient', async () => {
  const { id } = (await post(send10({}, { configuration: { returnImmediately: true } }))).body.result.task
  const bob = storeOf(grid, grid.bob)
  await updateTask(bob, { taskId: id, state: 'input-required', text: 'Which?' })
  const before = (await post(request('GetTask', { id }))).body
  const ended = { used: 10, max: 10, expiresAt: grid.clock.now + 1_000 }
  await updateTrial(grid, grid.alice, ended)
  await updateTrial(grid, grid.bob, ended)

  expect((await post(send10({ taskId: id, metadata: undefined }))).body.error.code).toBe(-32051)
  for (const update of [{ text: 'done' }, { state: 'failed' as const, text: 'No.' }]) {
    await expect(updateTask(bob, { taskId: id, ...update })).rejects.toThrow('10 of 10 messages')
  }
  expect((await post(request('GetTask', { id }))).body).toEqual(before)
})

test('22: plain receipts have the four fields alone', async () => {
  await grid.close()
  grid = await testGrid({ env: { A2A_PLAIN_RECEIPTS: '1' } })
  const { result } = (await post(send03({ contextId: 'c' }))).body

  expect(result).toEqual({
    kind: 'message',
    role: 'agent',
    messageId: (await inboxOf(grid, grid.bob))[0].message_id,
    parts: [{ kind: 'text', text: 'Message delivered to @bob' }],
  })
})

function post(body: unknown, path: string = endpoint, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers, path)
}
