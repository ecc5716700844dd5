/** How large a task and a list of tasks can be. See docs/security.md, "Limits". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestGrid } from '../../support/grid.ts'
import { askFor, storeOf } from '../../support/tasks.ts'

let grid: TestGrid
let client: AccountStore
let bob: AccountStore

/** Let each chunk of a task have this many bytes. */
const fill = (task: string, bytes: number) =>
  rows(
    grid,
    `UPDATE artifacts SET parts = '[{"text":"' || hex(zeroblob(?)) || '"}]' WHERE account_id = ? AND task_id = ?`,
    [bytes / 2, grid.acme.id, task],
  )

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    client = storeOf(grid, grid.alice)
    bob = storeOf(grid, grid.bob)
  })
  afterEach(() => grid.close())

  test('artifacts of a task have 8 MiB, and then the task can be ended', async () => {
    const { id } = await askFor(client, 'a question')
    const chunk = (append: boolean) => ({ taskId: id, text: 'more', artifact: { id: 'a', append } })
    for (const append of [false, true]) await updateTask(bob, chunk(append))
    await fill(id, 4 * 2 ** 20 - 14)
    await updateTask(bob, chunk(true))
    for (const append of [true, false]) {
      await expect(updateTask(bob, chunk(append))).rejects.toMatchObject({ code: 'payload_too_large' })
    }
    expect((await updateTask(bob, { taskId: id, state: 'completed' })).status.state).toBe('completed')
  })

  test('a task has 10,000 events, and then it can only be ended', async () => {
    const { id } = await askFor(client, 'a question')
    await rows(grid, 'UPDATE tasks SET generation = 10000 WHERE account_id = ? AND id = ?', [grid.acme.id, id])
    const updates = [
      { text: 'note', state: 'working' as const },
      { state: 'input-required' as const },
      { text: 'more', artifact: { id: 'a', append: true } },
    ]
    for (const update of updates) {
      await expect(updateTask(bob, { taskId: id, ...update })).rejects.toMatchObject({ code: 'payload_too_large' })
    }
    expect((await updateTask(bob, { taskId: id, text: 'the answer' })).status.state).toBe('completed')
  })
})
