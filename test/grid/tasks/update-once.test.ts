/** Task updates under an idempotency key, on every database. See docs/delivery.md, "Idempotency keys". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cancelTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { day } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { guard, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { askFor, eventsOf, inShort } from '../../support/tasks.ts'

let grid: TestGrid

let client: AccountStore

let bob: AccountStore

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open(testProviders())
    client = storeOf(grid, grid.alice)
    bob = storeOf(grid, grid.bob)
  })
  afterEach(() => grid.close())

  test.each([false, true])('a repeated task update is stored once; with a guardrail: %s', async (isGuarded) => {
    if (isGuarded) await guard(grid.acme, 'bob', { direction: 'outbound', action: 'redact' })
    const { id } = await askFor(client, 'a question')
    const artifact = { id: 'list', append: true }
    const updates: Parameters<typeof updateTask>[1][] = [
      { text: 'one, ', artifact: { id: 'list' } },
      { text: 'two, ', artifact },
      { text: 'three', artifact, state: 'input-required' },
      { text: 'a note', state: 'working' },
      { state: 'auth-required' },
      { text: 'the answer' },
    ]
    const calls = updates.map((update, n) => () =>
      updateTask(bob, { taskId: id, ...update, idempotencyKey: `key ${n}` })
    )

    for (const call of calls) {
      await Promise.all([call(), call()])
      await call()
    }
    // The task has ended, but a repeated update still gets its response.
    for (const call of calls) expect((await call()).status.state).toBe('completed')

    const events = inShort(await eventsOf(client, id))
    const said = ['one, ', 'two, ', 'three', 'input-required', 'working', 'auth-required', 'the answer', 'completed']
    expect(events).toEqual(['submitted', ...said])
  })

  test('for 7 days, an idempotency key belongs to one update or one send, and is refused with other content', async () => {
    const { id } = await askFor(client, 'a question')
    const again = await askFor(client, 'another question')
    const note = { state: 'working' as const, idempotencyKey: 'a key' }
    const chunk = { taskId: id, text: 'one', artifact: { id: 'a' } }
    const send = { to: '@alice', text: 'hi' }
    await expect(updateTask(bob, { ...chunk, taskId: 'none', idempotencyKey: 'a key' })).rejects.toThrow()
    await updateTask(bob, { taskId: id, ...note })
    await sendMessage(bob, { ...send, idempotencyKey: 'of a send' })

    const refused = [
      () => updateTask(bob, { ...chunk, idempotencyKey: 'a key' }),
      () => updateTask(bob, { taskId: again.id, ...note }),
      () => updateTask(bob, { taskId: id, ...note, text: 'a note' }),
      () => sendMessage(bob, { ...send, idempotencyKey: 'a key' }),
      () => updateTask(bob, { ...chunk, idempotencyKey: 'of a send' }),
    ]
    for (const call of refused) await expect(call()).rejects.toMatchObject({ code: 'idempotency_conflict' })

    grid.clock.now += 7 * day
    await updateTask(bob, { ...chunk, idempotencyKey: 'a key' })
    await updateTask(bob, { ...chunk, idempotencyKey: 'a key' })
    await callTool(grid, grid.bob.key, 'update_task', { task_id: id, text: 'done', idempotency_key: 'k' })
    const { text } = await callTool(grid, grid.bob.key, 'update_task', {
      task_id: id,
      text: 'done',
      idempotency_key: 'k',
    })
    expect(text).toMatchObject({ task_id: id, state: 'completed' })
    expect(inShort(await eventsOf(client, id))).toEqual(['submitted', 'working', 'one', 'done', 'completed'])
  })

  test('an update that ends a task without text can also be repeated', async () => {
    const { id } = await askFor(client, 'a question')
    const end = { taskId: id, state: 'failed' as const, idempotencyKey: 'a key' }

    const states = [await updateTask(bob, end), await updateTask(bob, end)].map(({ status }) => status.state)

    expect(states).toEqual(['failed', 'failed'])
  })

  test("an update after the task's end does not use up its key", async () => {
    let late = 0
    for (const n of [1, 2, 3, 4, 5]) {
      const { id } = await askFor(client, `question ${n}`)
      const end = { taskId: id, state: 'failed' as const, idempotencyKey: `key ${n}` }
      const [, told] = await Promise.allSettled([cancelTask(client, id), updateTask(bob, end)])
      if (told.status === 'fulfilled') continue
      late++
      const other = await askFor(client, 'another question')
      expect((await updateTask(bob, { ...end, taskId: other.id })).status.state).toBe('failed')
    }

    expect(late).toBeGreaterThan(0)
  })
})
