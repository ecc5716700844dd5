/** Log rows written by verbs: changed tasks, held messages, and agents whose waits must end. */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../src/auth/actor.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { requeueMessages } from '../../src/grid/messaging/parked.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { retractMessage } from '../../src/grid/messaging/retract-message.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { expireMessages } from '../../src/worker/retention.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestGrid } from '../support/grid.ts'
import { hold } from '../support/held.ts'
import { sendMessage } from '../support/messaging.ts'
import { askFor, eventsOf, inShort } from '../support/tasks.ts'

let grid: TestGrid
let alice: AccountStore
let bob: AccountStore

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    alice = storeOf(grid, grid.alice)
    bob = storeOf(grid, grid.bob)
  })

  test("each task event writes one log row, with the task's state unless it is an artifact chunk", async () => {
    const { id } = await askFor(alice, 'a question')
    await readMessages(bob, {})
    await updateTask(bob, { taskId: id, text: 'part one', artifact: { id: 'a' } })
    await updateTask(bob, { taskId: id, state: 'completed' })

    expect(inShort(await eventsOf(alice, id))).toEqual(['submitted', 'working', 'part one', 'completed'])
    expect(await logOf('task', id)).toEqual(['submitted', 'working', null, 'completed'])
  })

  test('when a message ends unread, the end of its task writes one log row', async () => {
    const expired = await askFor(alice, 'too late')
    const retracted = await askFor(alice, 'never mind')
    const { message_id: id } = await messageOf(retracted.id)
    await rows(grid, 'UPDATE deliveries SET expires_at = 1 WHERE account_id = ? AND task_id = ?', [
      grid.acme.id,
      expired.id,
    ])
    await expireMessages(grid.store)
    await retractMessage(alice, callingAgent(alice.actor), id)

    expect(await logOf('task', expired.id)).toEqual(['submitted', 'failed'])
    expect(await logOf('task', retracted.id)).toEqual(['submitted', 'canceled'])
  })

  test("reading a task's message again writes no further log row", async () => {
    const { id } = await askFor(alice, 'a question')
    const { lease } = await readMessages(bob, {})
    await leaseOf(bob, lease!.id).release()
    await readMessages(bob, {})

    expect(await logOf('task', id)).toEqual(['submitted', 'working'])
  })

  test('a held message writes one log row in the account that holds it', async () => {
    await hold(grid.acme.store)
    await sendMessage(alice, { to: '@bob', text: 'may I?' })

    const held = await rows(grid, 'SELECT id FROM held_messages WHERE account_id = ?', [grid.acme.id])
    expect(await rows(grid, "SELECT subject AS id, home FROM log WHERE kind = 'held'"))
      .toEqual(held.map(({ id }) => ({ id, home: grid.acme.id })))
  })

  test("a message that is unread again and an agent's deletion each write log rows that wake its waits", async () => {
    await sendMessage(alice, { to: '@bob', text: 'one' })
    await sendMessage(alice, { to: '@bob', text: 'two' })
    const { lease } = await readMessages(bob, {})
    const before = (await logOf('agent', grid.bob.id)).length
    await leaseOf(bob, lease!.id).release()
    expect(await logOf('agent', grid.bob.id)).toHaveLength(before + 1)

    await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(grid.bob.id, 1)])
    await requeueMessages(grid.acme.store, { agent: 'bob' })
    expect(await logOf('agent', grid.bob.id)).toHaveLength(before + 2)

    // One row is for the agent, and one for its key.
    await deleteAgent(grid.acme.store, 'bob')
    expect(await logOf('agent', grid.bob.id)).toHaveLength(before + 4)
  })
})

async function logOf(kind: string, subject: string) {
  const found = await rows(grid, 'SELECT state FROM log WHERE kind = ? AND subject = ? ORDER BY seq', [kind, subject])
  return found.map(({ state }) => state)
}

async function messageOf(task: string) {
  const [found] = await rows(grid, 'SELECT message_id FROM tasks WHERE account_id = ? AND id = ?', [grid.acme.id, task])
  return { message_id: String(found.message_id) }
}
