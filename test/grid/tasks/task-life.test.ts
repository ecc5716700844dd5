/** Other events in a task's life: time, deletion, claims, other accounts, guardrails. On every database. */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { continueTask } from '../../../src/grid/tasks/start-task.ts'
import { cancelTask, getTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { watchTask } from '../../../src/grid/tasks/watch-task.ts'
import { day, hour, minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { failTasks, sweep } from '../../../src/worker/retention.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { sendMessage } from '../../support/messaging.ts'
import { askFor, eventsOf, inShort } from '../../support/tasks.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid

let client: AccountStore

let bob: AccountStore

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open(testProviders())
    client = storeOf(grid, grid.alice)
    bob = storeOf(grid, grid.bob)
  })

  test('a task fails when its time is over, or when its recipient is deleted', async () => {
    const late = await askFor(client, 'too late')
    grid.clock.now += 168 * hour
    const gone = await askFor(client, 'nobody left')
    await failTasks(grid.store)
    await deleteAgent(grid.acme.store, 'bob')
    await failTasks(grid.store)
    await failTasks(grid.store)

    const reasons = []
    for (const { id } of [late, gone]) reasons.push((await getTask(client, id)).status)
    expect(reasons).toMatchObject([
      { state: 'failed', message: { role: 'agent', parts: [{ text: 'The time limit passed without an answer.' }] } },
      { state: 'failed', message: { role: 'agent', parts: [{ text: 'The recipient was deleted.' }] } },
    ])
    expect(inShort(await eventsOf(client, late.id))).toEqual(['submitted', 'failed'])
  })

  test('a client is notified once when its recipient has been silent for an hour, and again after the next event', async () => {
    const { id } = await askFor(client, 'a long job')
    const unread = await askFor(client, 'nobody reads it', { to: `@${(await grid.acme.agent('carol')).alias}` })
    const plain = await askFor(client, 'a receipt', { mode: 'receipt' })
    await readMessages(bob, {})
    const artifact = { id: 'a', append: true }
    grid.clock.now += hour - 1
    await updateTask(bob, { taskId: id, text: 'part one', artifact })
    const pass = async (ms: number) => {
      grid.clock.now += ms
      await failTasks(grid.store)
      return (await rows(grid, stored, [grid.acme.id, id])).map(({ state }) => state)
    }
    const stored = 'SELECT state FROM task_events WHERE account_id = ? AND task_id = ? ORDER BY n'
    const before = ['submitted', 'working', null]

    expect(await pass(hour - 1)).toEqual(before)
    expect(await pass(1)).toEqual([...before, 'working'])
    expect(await pass(5 * hour)).toEqual([...before, 'working'])
    const text = '@bob has said nothing about this task for an hour. It may still be working.'
    expect((await getTask(client, id)).status).toMatchObject({ state: 'working', message: { parts: [{ text }] } })
    for (const other of [unread, plain]) expect((await getTask(client, other.id)).status).not.toHaveProperty('message')

    await updateTask(bob, { taskId: id, state: 'working' })
    expect((await getTask(client, id)).status).not.toHaveProperty('message')
    expect(await pass(hour - 1)).toEqual([...before, 'working', 'working'])
    expect(await pass(1)).toHaveLength(6)
    await updateTask(bob, { taskId: id, text: 'done' })
    expect(await pass(hour)).toEqual([...before, 'working', 'working', 'working', null, 'completed'])
  })

  test('a recipient that reports every ten minutes is not silent, and causes only a few events', async () => {
    const { id } = await askFor(client, 'a long job')
    await readMessages(bob, {})
    for (let n = 0; n < 12; n++) {
      grid.clock.now += 10 * minute
      await updateTask(bob, { taskId: id, state: 'working' })
      await failTasks(grid.store)
    }

    expect((await getTask(client, id)).status).not.toHaveProperty('message')
    const [{ n }] = await rows(grid, 'SELECT max(n) AS n FROM task_events WHERE account_id = ?', [grid.acme.id])
    expect(n).toBe(6)
  })

  test('a client that follows a task is woken when the task has been silent for an hour', async () => {
    const { id } = await askFor(client, 'a long job')
    await readMessages(bob, {})
    const events = watchTask(client, id, { after: 2, heartbeatMs: 3_600_000 })
    const next = events.next()
    await waitFor('the stream', () => client.waiting.notifier.isFollowed(id))
    // Waits until the stream's first check is done.
    await getTask(client, id)
    grid.clock.now += hour
    await failTasks(grid.store)

    expect((await next).value).toMatchObject({ n: 3, type: 'status', status: { state: 'working' } })
    await events.return(undefined)
  })

  test('client and recipient see a task across accounts, and nobody else does', async () => {
    const desk = await grid.evil.agent('desk', { visibility: 'public' })
    const other = storeOf(grid, desk, grid.evil)
    const { id } = await askFor(client, 'a question', { to: '@desk' })
    const { messages } = await readMessages(other, {})
    expect(messages).toMatchObject([{ task_id: id, external: true, note: expect.any(String) }])
    await updateTask(other, { taskId: id, text: 'part one', artifact: { id: 'a' } })
    await sendMessage(other, { to: '@alice', text: 'an answer', replyToMessageId: messages[0].message_id })

    expect(inShort(await eventsOf(client, id))).toEqual(['submitted', 'working', 'part one', 'an answer', 'completed'])
    for (const stranger of [bob, other, storeOf(grid, grid.eve, grid.evil)]) {
      await expect(getTask(stranger, id)).rejects.toMatchObject({ code: 'task_not_found' })
      await expect(cancelTask(stranger, id)).rejects.toMatchObject({ code: 'task_not_found' })
    }
    await expect(updateTask(bob, { taskId: id, text: 'x' })).rejects.toMatchObject({ code: 'task_not_found' })
  })

  test.each(['block', 'redact'] as const)("guardrails check a recipient's task updates: %s", async (action) => {
    await guard(grid.acme, 'bob', { direction: 'outbound', action })
    const { id } = await askFor(client, 'a question')
    const calls = [
      { text: secret, artifact: { id: 'a' } },
      { state: 'working' as const, text: secret },
      { parts: [{ text: 'it is' }, { data: { it: secret } }] },
    ]
    const codes = []
    for (const call of calls) {
      codes.push(await updateTask(bob, { taskId: id, ...call }).then(() => 'ok', ({ code }) => code))
    }

    expect(codes).toEqual(calls.map(() => action === 'block' ? 'guardrail_blocked' : 'ok'))
    const task = await getTask(client, id)
    expect(JSON.stringify(task)).not.toContain(secret)
    expect(task.status.state).toBe(action === 'block' ? 'submitted' : 'completed')
  })

  test('an ended task is stored as long as a message, and then all of its rows are removed', async () => {
    const { id } = await askFor(client, 'a question')
    await updateTask(bob, { taskId: id, text: 'a chunk', artifact: { id: 'a' } })
    await updateTask(bob, { taskId: id, text: 'an answer' })
    grid.clock.now += 90 * day - 1
    await sweep(grid.store)
    expect((await getTask(client, id)).artifacts).toHaveLength(2)

    grid.clock.now += 1
    await sweep(grid.store)

    await expect(getTask(client, id)).rejects.toMatchObject({ code: 'task_not_found' })
    for (const table of ['tasks', 'task_messages', 'task_events', 'artifacts', 'contexts', 'messages']) {
      expect(await rows(grid, `SELECT * FROM ${table} WHERE account_id = ?`, [grid.acme.id])).toEqual([])
    }
  })
})

/** Sets the size of a task. */
const fill = (task: string, bytes: number) =>
  rows(grid, 'UPDATE tasks SET bytes = ? WHERE account_id = ? AND id = ?', [bytes, grid.acme.id, task])

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    client = storeOf(grid, grid.alice)
    bob = storeOf(grid, grid.bob)
  })

  test('a task can have 8 MiB for both sides together, and can then only be ended', async () => {
    const { id } = await askFor(client, 'a question')
    const chunk = (append: boolean) => ({ taskId: id, text: 'more', artifact: { id: 'a', append } })
    for (const append of [false, true]) await updateTask(bob, chunk(append))
    await fill(id, 8 * 2 ** 20 - 1)
    await updateTask(bob, chunk(true))
    const note = { taskId: id, text: 'a note', state: 'working' as const }
    for (const update of [chunk(true), chunk(false), note]) {
      await expect(updateTask(bob, update)).rejects.toMatchObject({ code: 'payload_too_large' })
    }
    const message = { messageId: 'more', parts: [{ text: 'more' }] }
    await expect(continueTask(client, callingAgent(client.actor), { taskId: id, message })).rejects.toMatchObject({
      code: 'payload_too_large',
    })
    expect((await updateTask(bob, { taskId: id, text: 'an answer' })).status.state).toBe('completed')
  })

  test("every text in a message and an artifact counts towards its task's size", async () => {
    const long = 'x'.repeat(100_000)
    const size = async (id: string) =>
      (await client.read.tasks.of('client', callingAgent(client.actor).agentId, id))!.bytes
    const message = {
      messageId: 'm',
      parts: [{ text: 'hi', mediaType: long, filename: long, metadata: { [long]: 1 } }],
      metadata: { [long]: 1 },
      extensions: [long],
      referenceTaskIds: [long],
    }
    const { id } = await askFor(client, 'a question', { message })
    expect(await size(id)).toBeGreaterThan(600_000)

    const before = await size(id)
    for (const append of [false, true]) {
      await updateTask(bob, { taskId: id, text: long, artifact: { id: long, name: long, append } })
    }
    // The second update adds no name, because it continues the artifact.
    expect(await size(id) - before).toBeGreaterThan(500_000)
    const [{ bytes }] = await rows(grid, "SELECT bytes FROM usage WHERE account_id = ? AND subject = ''", [
      grid.acme.id,
    ])
    expect(Number(bytes)).toBeGreaterThan(1_100_000)
  })

  test('a task can have 10,000 events, and can then only be ended', async () => {
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
