/** Attacks over A2A on other clients' tasks. See docs/security.md, "Account isolation". */
import { beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { endpoint, endpointOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { dump } from '../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
let carol: TestAgent
let id: string
beforeEach(async () => {
  grid = await testGrid()
  carol = await grid.acme.agent('carol')
  const made = send10({ metadata: undefined, contextId: 'trip' }, { configuration: { returnImmediately: true } })
  id = (await call(grid.alice, made, endpointOf(grid.bob))).body.result.task.id
  for (const agent of [grid.alice, grid.bob, carol, grid.eve]) await call(agent, request('ListTasks', {}))
})

const call = (agent: TestAgent, body: unknown, path = endpoint, headers: Record<string, string> = {}) =>
  postA2a(grid, agent.key, body, { 'A2A-Version': '1.0', ...headers }, path)

test('only its client can access a task, whatever path, tenant, context or event id an attacker sends', async () => {
  const before = await dump(grid, grid.acme)
  const scopes: [string, Record<string, unknown>][] = [[endpoint, {}], [endpoint, { tenant: '@bob' }], [
    endpointOf(grid.bob),
    {},
  ]]
  for (const stranger of [grid.bob, carol, grid.eve]) {
    for (const [path, scope] of scopes) {
      const foreign = await answersTo(id, stranger, path, scope)
      expect(foreign).toEqual(await answersTo('00000000-0000-7000-8000-000000000000', stranger, path, scope))
      // An agent that may not write to Bob gets the error for an unknown recipient.
      for (const answer of foreign) expect(answer).toMatch(/TASK_NOT_FOUND|RECIPIENT_NOT_FOUND/)
      const { body } = await call(stranger, request('ListTasks', { contextId: 'trip', ...scope }), path)
      expect(body.result ?? { tasks: [], totalSize: 0 }).toMatchObject({ tasks: [], totalSize: 0 })
    }
  }
  // At a different agent's endpoint, even the task's own client does not find the task.
  const elsewhere = await answersTo(id, grid.alice, endpointOf(carol))
  for (const answer of elsewhere) expect(answer).toContain('TASK_NOT_FOUND')
  for (const third of [storeOf(grid, carol), storeOf(grid, grid.alice)]) {
    await expect(updateTask(third, { taskId: id, text: 'mine' })).rejects.toMatchObject({ code: 'task_not_found' })
  }
  expect(await dump(grid, grid.acme)).toBe(before)
})

test("a page token that is forged, or belongs to another list or agent, shows only the caller's tasks", async () => {
  await call(grid.alice, send10({ metadata: undefined, messageId: 'm2' }), endpointOf(carol))
  const list = request('ListTasks', { pageSize: 1 })
  const token = (await call(grid.alice, list)).body.result.nextPageToken
  expect(token).not.toBe('')
  const ofCarol = await call(carol, request('ListTasks', { pageSize: 1, pageToken: token }))
  expect(ofCarol.body.result).toMatchObject({ tasks: [], totalSize: 0 })
  const forged = ['W10', 'bnVsbA', 'WzFlOTksMCwiIl0', `${token}A`, '\u0000', 'x'.repeat(100_000)]
  for (const pageToken of forged) {
    const { body } = await call(grid.alice, request('ListTasks', { pageSize: 1, pageToken }))
    expect(body.error?.code ?? body.result.tasks.length, pageToken.slice(0, 20)).toBeOneOf([-32602, 1, 0])
  }
})

/** Returns the responses of every method for a task: status, headers and body, with ids removed. */
async function answersTo(task: string, agent: TestAgent, path: string, scope: Record<string, unknown> = {}) {
  const methods = ['GetTask', 'CancelTask', 'SubscribeToTask', 'tasks/get', 'tasks/cancel', 'tasks/resubscribe']
  const sends = [
    send10({ taskId: task, metadata: undefined }, scope),
    send03({ taskId: task, metadata: undefined }, scope),
  ]
  const answers = []
  for (const sent of [...methods.map((method) => request(method, { id: task, ...scope })), ...sends]) {
    const { status, headers, body } = await call(agent, sent, path, { 'Last-Event-ID': '0' })
    const { 'x-request-id': _, ...others } = Object.fromEntries(headers)
    answers.push(JSON.stringify([status, others, body]).replaceAll(task, 'ID'))
  }
  return answers
}
