/** A task ends once, however many try to end it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cancelTask, getTask } from '../../../src/grid/tasks/tasks.ts'
import { isTerminal } from '../../../src/grid/tasks/task.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { nextIteration } from '../../../src/lib/limits/request-scheduler.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { askFor, storeOf } from '../../support/tasks.ts'

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
    const codeOf = (call: Promise<unknown>, done: string) => call.then(() => done, (error) => String(error.code))

    /** A cancellation has less to read, so it begins some turns of the event loop later. */
    async function race(n: number): Promise<string> {
      const { id } = await askFor(client, `question ${n}`)
      const answer = codeOf(updateTask(bob, { taskId: id, text: 'an answer' }), 'completed')
      await turns(n % 5)
      const calls = [await codeOf(cancelTask(client, id), 'canceled'), await answer]

      const { status: { state }, artifacts } = await getTask(client, id)
      const events = await client.read.tasks.events('client', grid.alice.id, [id], { withArtifacts: true })
      expect(events.filter((event) => event.state && isTerminal(event.state)).map((event) => event.state)).toEqual([
        state,
      ])
      expect(events.at(-1)!.state).toBe(state)
      const isCanceled = state === 'canceled'
      expect(calls).toEqual(isCanceled ? ['canceled', 'unsupported_operation'] : ['task_not_cancelable', 'completed'])
      expect(artifacts).toHaveLength(isCanceled ? 0 : 1)
      return state
    }

    const ends: string[] = []
    for (let n = 0; n < 1_000; n += 5) ends.push(...await Promise.all([n, n + 1, n + 2, n + 3, n + 4].map(race)))
    const canceled = ends.filter((state) => state === 'canceled').length
    console.log(`1,000 races: ${canceled} tasks were canceled, ${1_000 - canceled} answered`)
    expect(canceled).toBeGreaterThan(20)
    expect(canceled).toBeLessThan(980)
  },
)

/** Resolves after so many turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise<void>(nextIteration)
}

test('an answer by send_message to a task that was canceled meanwhile is a message like any other', async () => {
  const [client, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
  const { id } = await askFor(client, 'a question')

  const [sent] = await Promise.all([sendMessage(bob, { to: '@alice', text: 'an answer' }), cancelTask(client, id)])

  const { status } = await getTask(client, id)
  expect(sent.taskId).toBe(status.state === 'canceled' ? undefined : id)
})
