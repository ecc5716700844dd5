/** A task ends once, however many try to end it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cancelTask, getTask } from '../../../src/grid/tasks/tasks.ts'
import { isTerminal } from '../../../src/grid/tasks/task.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { askFor, eventsOf, inShort, storeOf } from '../../support/tasks.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { MESSAGES_PER_DAY: '0' } })
})
afterEach(() => grid.close())

test(
  'cancel against reply: one wins, and both callers are told the same, 1,000 times',
  { timeout: 120_000 },
  async () => {
    const [client, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
    let canceled = 0
    for (let n = 0; n < 1_000; n++) {
      const { id } = await askFor(client, `question ${n}`)
      const cancel = () => cancelTask(client, id).then(() => 'canceled', (error) => error.code)
      const reply = () =>
        updateTask(bob, { taskId: id, text: 'an answer' }).then(() => 'completed', (error) => error.code)
      const [first, second] = n % 2 === 0 ? [cancel, reply] : [reply, cancel]
      const calls = await Promise.all([first(), second()])

      const task = await getTask(client, id)
      const events = inShort(await eventsOf(client, id))
      expect(events.filter((state) => isTerminal(state as 'completed'))).toEqual([task.status.state])
      expect(events.at(-1)).toBe(task.status.state)
      const isCanceled = task.status.state === 'canceled'
      expect(calls.sort()).toEqual(
        isCanceled ? ['canceled', 'unsupported_operation'] : ['completed', 'task_not_cancelable'],
      )
      expect(task.artifacts).toHaveLength(isCanceled ? 0 : 1)
      if (isCanceled) canceled++
    }
    console.log(`1,000 races: ${canceled} tasks were canceled, the others answered`)
  },
)

test('an answer by send_message to a task that was canceled meanwhile is a message like any other', async () => {
  const [client, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
  const { id } = await askFor(client, 'a question')

  const [sent] = await Promise.all([sendMessage(bob, { to: '@alice', text: 'an answer' }), cancelTask(client, id)])

  const { status } = await getTask(client, id)
  expect(sent.taskId).toBe(status.state === 'canceled' ? undefined : id)
})
