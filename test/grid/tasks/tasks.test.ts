/** A task from its message to its end, as seen by both agents. */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { readAgain } from '../../../src/grid/messaging/read-again.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { continueTask } from '../../../src/grid/tasks/start-task.ts'
import { cancelTask, getTask, listTasks } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { askFor, eventsOf, inShort } from '../../support/tasks.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { findMessages, receiptsOf } from '../../../src/grid/conversations/messages.ts'
import { listThreads } from '../../../src/grid/conversations/threads.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { rows } from '../../support/database.ts'
import { isTerminal } from '../../../src/grid/tasks/task.ts'
import { nextIteration } from '../../../src/lib/limits/request-scheduler.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid

let client: AccountStore

let bob: AccountStore

beforeEach(async () => {
  grid = await testGrid({ env: { MESSAGES_PER_DAY: '0' } })
  client = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
})

test('a message becomes a task, which is read, answered and completed', async () => {
  const asked = await askFor(client, 'a question')
  expect(asked).toMatchObject({ recipient: 'bob', generation: 1, status: { state: 'submitted' }, artifacts: [] })
  const { messages: [message] } = await readMessages(bob, {})
  expect(message).toMatchObject({ message: 'a question', task_id: asked.id })
  expect((await getTask(client, asked.id)).status.state).toBe('working')

  const reply = await sendMessage(bob, { to: '@alice', text: 'an answer', replyToMessageId: message.message_id })

  expect(reply.taskId).toBe(asked.id)
  const task = await getTask(client, asked.id)
  expect(task).toMatchObject({
    generation: 4,
    status: { state: 'completed' },
    history: [{ role: 'user', messageId: 'id of a question', parts: [{ text: 'a question' }] }],
    artifacts: [{ artifactId: reply.id, parts: [{ text: 'an answer' }] }],
  })
  expect(inShort(await eventsOf(client, asked.id))).toEqual(['submitted', 'working', 'an answer', 'completed'])
  // The answer is only in the task.
  expect((await readMessages(client, {})).messages).toEqual([])
})

test('only a reply to a message of the task completes it', async () => {
  const { id } = await askFor(client, 'Translate the guide into Greek')
  const { messages: [asked] } = await readMessages(bob, {})
  const other = await sendMessage(client, { to: '@bob', text: 'hi', conversationId: asked.conversation_id })
  const toAlice = { to: '@alice', text: 'Live row check' }

  await sendMessage(bob, toAlice)
  await sendMessage(bob, { ...toAlice, conversationId: asked.conversation_id })
  await sendMessage(bob, { ...toAlice, replyToMessageId: other.id })
  await grid.acme.agent('carol')
  await sendMessage(bob, { to: '@carol', text: 'see', replyToMessageId: asked.message_id })

  expect((await getTask(client, id)).status.state).toBe('working')
  const shown = (await readMessages(client, {})).messages
  expect(shown.map(({ message, task_id }) => [message, task_id])).toEqual(Array(3).fill(['Live row check', undefined]))
})

test('while a task is open, a read tells its recipient how to answer', async () => {
  const { id } = await askFor(client, 'a question', { mode: 'receipt' })
  const { messages: [asked] } = await readMessages(bob, {})
  expect(asked.note).toBe('To complete this task, answer with reply_to_message_id, or call update_task.')

  await updateTask(bob, { taskId: id, state: 'input-required', text: 'which one?' })
  const others = (await readMessages(client, {})).messages
  await updateTask(bob, { taskId: id, text: 'an answer' })
  others.push(...(await readMessages(client, {})).messages, ...(await readAgain(bob, { since: '1h' })).messages)

  expect(others.map(({ message, task_id, note }) => [message, task_id, note])).toEqual([
    ['which one?', id, undefined],
    ['an answer', id, undefined],
    ['a question', id, undefined],
  ])
})

test("a recipient asks a question, and the client's answer continues the same task", async () => {
  const { id, contextId } = await askFor(client, 'a question')
  await updateTask(bob, { taskId: id, state: 'working', text: 'looking' })
  await updateTask(bob, { taskId: id, state: 'working' })
  await updateTask(bob, { taskId: id, state: 'input-required', text: 'which one?' })

  const message = { messageId: 'more', parts: [{ text: 'the red one' }] }
  const { task } = await continueTask(client, callingAgent(client.actor), { taskId: id, contextId, message })
  expect((await getTask(client, task.id)).status.state).toBe('working')
  await updateTask(bob, { taskId: id, text: 'here', parts: [{ data: { red: true } }] })

  const done = await getTask(client, id)
  expect(done.history.map(({ role, parts }) => [role, parts])).toEqual([
    ['user', [{ text: 'a question' }]],
    ['agent', [{ text: 'looking' }]],
    ['agent', [{ text: 'which one?' }]],
    ['user', [{ text: 'the red one' }]],
  ])
  expect(done.artifacts[0].parts).toEqual([{ text: 'here' }, { data: { red: true } }])
  const events = await eventsOf(client, id)
  expect(inShort(events)).toEqual([
    'submitted',
    'working',
    'input-required',
    'working',
    'here{"data":{"red":true}}',
    'completed',
  ])
  expect(events.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6])
  expect((await getTask(client, id, { historyLength: 1 })).history).toHaveLength(1)
})

test('a canceled task withdraws its unread message, and notifies a recipient that has read it', async () => {
  const unread = await askFor(client, 'not read')
  expect((await cancelTask(client, unread.id)).status.state).toBe('canceled')
  expect((await readMessages(bob, {})).messages).toEqual([])

  const read = await askFor(client, 'read')
  await readMessages(bob, {})
  await cancelTask(client, read.id)

  expect((await readMessages(bob, {})).messages).toMatchObject([{ type: 'system', task_id: read.id }])
  await expect(cancelTask(client, read.id)).rejects.toMatchObject({ code: 'task_not_cancelable' })
  await expect(updateTask(bob, { taskId: read.id, text: 'late' })).rejects.toMatchObject({
    code: 'unsupported_operation',
  })
})

test("a cancellation after the task's end withdraws no message, and notifies nobody", async () => {
  const { id } = await askFor(client, 'a question')
  const canceling = storeOf(grid, grid.alice)
  const { write } = canceling
  // The cancellation reads the task while it is still open. The recipient then ends the task before the cancellation is
  // committed.
  canceling.write = async (statements) => {
    await updateTask(bob, { taskId: id, state: 'completed', text: 'done' })
    return await write(statements)
  }

  await expect(cancelTask(canceling, id)).rejects.toMatchObject({ code: 'task_not_cancelable' })

  expect((await readMessages(bob, {})).messages).toMatchObject([{ message: 'a question', type: 'agent' }])
})

test('tasks are listed by page, newest first', async () => {
  const ids = []
  for (const n of [1, 2, 3, 4, 5]) {
    grid.clock.now += 1000
    ids.unshift((await askFor(client, `question ${n}`)).id)
  }
  const first = await listTasks(client, { pageSize: 2 })
  grid.clock.now += 1000
  await updateTask(bob, { taskId: ids[0], text: 'done' })
  const second = await listTasks(client, { pageSize: 2, pageToken: first.nextPageToken })
  const third = await listTasks(client, { pageSize: 2, pageToken: second.nextPageToken })

  expect([first, second, third].flatMap(({ tasks }) => tasks.map(({ id }) => id))).toEqual(ids)
  expect(first).toMatchObject({ totalSize: 5, pageSize: 2 })
  expect(third.nextPageToken).toBe('')
  expect((await listTasks(client, { pageSize: 5, state: 'completed' })).tasks.map(({ id }) => id)).toEqual([ids[0]])
  await expect(listTasks(client, { pageSize: 5, pageToken: second.nextPageToken, state: 'completed' })).rejects
    .toMatchObject({ code: 'invalid_input' })
})

test("a conversation shows a task's answers and questions, and canceled tasks", async () => {
  const asked = await askFor(client, 'a question')
  const { messages: [{ message_id: replyToMessageId }] } = await readMessages(bob, {})
  await updateTask(bob, { taskId: asked.id, state: 'input-required', text: 'which one?' })
  const answer = await sendMessage(bob, { to: '@alice', text: 'an answer', replyToMessageId })
  const canceled = await askFor(client, 'never mind', { contextId: asked.contextId })
  await cancelTask(client, canceled.id)
  await followLog(grid.store)

  const { threads } = await listThreads(grid.acme.store, {})
  expect(threads).toMatchObject([{ kind: 'conversation', messages: 4 }])
  const seqs = (await rows(grid, 'SELECT seq FROM messages WHERE account_id = ? ORDER BY seq', [grid.acme.id]))
    .map(({ seq }) => Number(seq))
  const shown = await findMessages(grid.acme.store, seqs)
  expect(shown.map(({ fromAlias, body }) => [fromAlias, body])).toEqual([
    ['alice', 'a question'],
    ['bob', 'which one?'],
    ['bob', 'an answer'],
    ['alice', 'never mind'],
  ])
  const receipts = await receiptsOf(grid.acme.store, seqs)
  expect(seqs.map((seq) => receipts.get(seq)!.recipient!.state)).toEqual(['leased', 'read', 'read', 'withdrawn'])
  expect((await messageStatus(bob, answer.id)).delivery).toBe('read')
})

test('an artifact arrives in chunks, before the state given with the last chunk', async () => {
  const { id } = await askFor(client, 'a list')
  const artifact = { id: 'list', name: 'List' }
  await updateTask(bob, { taskId: id, text: 'one, ', artifact })
  await updateTask(bob, { taskId: id, text: 'two, ', artifact: { id: 'list', append: true } })
  await updateTask(bob, { taskId: id, text: 'other', artifact: { id: 'other', append: true } })
  await updateTask(bob, {
    ...{ taskId: id, text: 'three', artifact: { id: 'list', append: true, lastChunk: true }, state: 'completed' },
  })

  const events = await eventsOf(client, id)
  expect(inShort(events)).toEqual(['submitted', 'one, ', 'two, ', 'other', 'three', 'completed'])
  expect(events.map((event) => 'append' in event ? [event.append, event.lastChunk] : [])).toEqual(
    // `append` is false for `other`, because that artifact did not exist yet.
    [[], [false, false], [true, false], [false, false], [true, true], []],
  )
  expect((await getTask(client, id)).artifacts).toEqual([
    { artifactId: 'list', name: 'List', parts: [{ text: 'one, ' }, { text: 'two, ' }, { text: 'three' }] },
    { artifactId: 'other', parts: [{ text: 'other' }] },
  ])
})

test('simultaneous appends are stored as few events, in order and before later updates', async () => {
  const { id } = await askFor(client, 'a story')
  await updateTask(bob, { taskId: id, text: 'Once', artifact: { id: 'story' } })
  const words = Array.from({ length: 50 }, (_, n) => ` ${n}`)

  const { appends } = bob.waiting
  const add = appends.add.bind(appends)
  let queued = 0
  appends.add = (...given) => {
    queued++
    return add(...given)
  }

  const appending = words.map((text) => updateTask(bob, { taskId: id, text, artifact: { id: 'story', append: true } }))
  await waitFor('all that is appended', () => queued === words.length)
  await updateTask(bob, { taskId: id, state: 'completed' })
  await Promise.all(appending)

  const events = await eventsOf(client, id)
  expect(inShort(events).join('')).toBe(`submittedOnce${words.join('')}completed`)
  // The first append is stored immediately, and the others are combined while it is stored.
  expect(events.length).toBeLessThanOrEqual(6)
})

test(
  'either a cancellation or a reply wins, and both callers see the same result, 200 times',
  { timeout: 120_000 },
  async () => {
    const codeOf = (call: Promise<unknown>, done: string) => call.then(() => done, (error) => String(error.code))

    /** Races an answer against a cancellation, which starts some event-loop turns later because it reads less. */
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
    for (let n = 0; n < 200; n += 5) ends.push(...await Promise.all([n, n + 1, n + 2, n + 3, n + 4].map(race)))
    const canceled = ends.filter((state) => state === 'canceled').length
    expect(canceled).toBeGreaterThan(4)
    expect(canceled).toBeLessThan(196)
  },
)

/** Resolves after this many turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise<void>(nextIteration)
}

test('an answer to a task that was canceled at the same moment is an ordinary message', async () => {
  const { id } = await askFor(client, 'a question')
  const { messages: [{ message_id: replyToMessageId }] } = await readMessages(bob, {})

  const answer = sendMessage(bob, { to: '@alice', text: 'an answer', replyToMessageId })
  const [sent] = await Promise.all([answer, cancelTask(client, id)])

  const { status } = await getTask(client, id)
  expect(sent.taskId).toBe(status.state === 'canceled' ? undefined : id)
})
