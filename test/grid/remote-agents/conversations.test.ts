/**
 * Which task and context a message to a remote agent continues, and who gets the answer. See docs/protocol/a2a.md,
 * "Remote agents".
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { eraseWords } from '../../../src/grid/accounts/erase-words.ts'
import { Signal } from '../../../src/lib/notifier.ts'
import { day, hour, minute, second } from '../../../src/lib/time.ts'
import { endpointOf, postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type Answer, messageResult, type RemoteAgent, remoteAgent, taskResult } from '../../support/remote-agent.ts'
import { callRest } from '../../support/rest.ts'
import { askFor } from '../../support/tasks.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

type Sent = NonNullable<RemoteAgent['calls'][number]['params']['message']>

let grid: TestGrid
let remote: RemoteAgent
let outboxes: TestOutboxes
let robot: TestAgent
let answer: (message: Sent) => Answer
/** The state of the agent's current task when it is polled. */
let look: Answer

beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  answer = () => messageResult('ok')
  look = taskResult('t1', 'WORKING', { isLook: true })
  remote = await remoteAgent(({ method, params }) => method === 'SendMessage' ? answer(params.message!) : look)
  robot = await grid.acme.agent('robot', { type: 'a2a', remoteUrl: remote.url })
  outboxes = new TestOutboxes(grid.store)
})
afterEach(async () => {
  await outboxes.stop()
  await remote.close()
  await grid.close()
})

type Sender = Pick<TestAgent, 'key'>
async function send(message: string, { key }: Sender = grid.alice, more: object = {}): Promise<string> {
  const { body } = await callRest(grid, key, 'POST /api/v1/messages', { to: '@robot', message, ...more })
  return body.message_id
}
const read = async ({ key }: Sender = grid.alice) => (await callTool(grid, key, 'read_messages')).text
const textsOf = (messages: { message: string }[]) => messages.map(({ message }) => message)
/** What the agent received, oldest first. */
const sent = () => remote.calls.flatMap(({ params }) => params.message ?? [])

/** Tries everything that is due now, each sender's messages one after the other. */
async function step(ms = 0, times = 2): Promise<void> {
  grid.clock.now += ms
  for (let n = 0; n < times; n++) {
    await outboxes.run()
    await outboxes.settled()
  }
}

test.each([[undefined, 'INPUT_REQUIRED'], ['dinner', 'AUTH_REQUIRED']])(
  'two senders in the conversation %s each answer their own question (%s)',
  async (conversation_id, state) => {
    answer = ({ taskId, parts: [{ text }] }) =>
      taskId === undefined
        ? taskResult(`task of ${text}`, state, { said: `Which day, ${text}?` })
        : taskResult(taskId, 'COMPLETED', { said: `Booked for ${text}` })
    const talk = { ...conversation_id && { conversation_id } }
    await send('alice', grid.alice, talk)
    await send('bob', grid.bob, talk)
    await step()
    await send('Friday', grid.alice, talk)
    await send('Sunday', grid.bob, talk)
    await step()

    const tasks = Object.fromEntries(sent().map(({ parts: [{ text }], taskId }) => [text, taskId]))
    expect(tasks).toEqual({ alice: undefined, bob: undefined, Friday: 'task of alice', Sunday: 'task of bob' })
    expect(textsOf(await read(grid.alice))).toEqual(['Which day, alice?', 'Booked for Friday'])
    expect(textsOf(await read(grid.bob))).toEqual(['Which day, bob?', 'Booked for Sunday'])
  },
)

test('each conversation of a sender, and each channel, continues in the context of its last answer', async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'robot'] })
  answer = ({ parts: [{ text }] }) => messageResult('ok', `context of ${text}`)
  for (const end of ['', ' again', ' and again']) {
    await send(`plain${end}`)
    await send(`eggs${end}`, grid.alice, { conversation_id: 'eggs' })
    await send(`milk${end}`, grid.alice, { conversation_id: 'milk' })
    await send(`post${end}`, grid.alice, { to: '#team' })
    for (let n = 0; n < 4; n++) await step(second, 1)
  }

  const names = ['plain', 'eggs', 'milk', 'post']
  expect(sent().map(({ contextId }) => contextId)).toEqual([
    ...names.map(() => undefined),
    ...names.map((name) => `context of ${name}`),
    ...names.map((name) => `context of ${name} again`),
  ])
})

test('the answer to a post is a post, and refusing a post notifies nobody', async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob', 'robot'] })
  const id = await send('question', grid.alice, { to: '#team' })
  await step()
  answer = () => ({ status: 403 })
  await send('another', grid.alice, { to: '#team' })
  await step()

  const reply = { message: 'ok', user: '@robot', channel: '#team', reply_to_message_id: id }
  expect(await read(grid.alice)).toMatchObject([reply])
  expect((await read(grid.bob)).filter(({ user }: { user: string }) => user === '@robot')).toMatchObject([reply])
  expect(remote.calls).toHaveLength(2)
})

test('a task is polled every minute, and given up after 7 days', async () => {
  answer = () => taskResult('t1', 'WORKING')
  const id = await send('Build a house')
  await step()
  await step(day)
  await step(hour)
  const before = remote.calls.length
  await step(minute)
  expect(remote.calls.length).toBeGreaterThan(before)
  await step(6 * day - hour - minute)
  expect(await read()).toEqual([])
  await step(minute)

  expect(await read()).toMatchObject([{
    type: 'system',
    reply_to_message_id: id,
    message: expect.stringContaining('It has not answered within 7 days.'),
  }])
  const last = remote.calls.length
  await step(hour)
  expect(remote.calls).toHaveLength(last)
})

test('a task is polled every 2 s while its client follows it', async () => {
  answer = () => taskResult('t1', 'WORKING')
  const { id } = await askFor(storeOf(grid, grid.alice), 'Build a house', { to: '@robot' })
  const stop = grid.store.waiting.notifier.watch(id, new Signal())
  await step()
  await step(5 * minute)
  const before = remote.calls.length
  for (let n = 0; n < 4; n++) await step(2 * second)

  expect(remote.calls).toHaveLength(before + 4)
  stop()
})

test('a task is no longer polled after its content was erased', async () => {
  answer = () => taskResult('t1', 'WORKING')
  await send('Build a house')
  await step()
  await eraseWords(grid.acme.store, 'alice')
  await step(minute)

  expect(remote.calls).toHaveLength(1)
  expect(await rows(grid, 'SELECT state, due_at, claimed_by FROM remote_tasks WHERE account_id = ?', [grid.acme.id]))
    .toEqual([{ state: 'ended', due_at: null, claimed_by: null }])
})

test('an answer about another task is refused', async () => {
  answer = () => taskResult('t1', 'WORKING')
  await send('Build a house')
  await step()
  look = taskResult('t2', 'COMPLETED', { isLook: true, said: 'the house of somebody else' })
  await step(minute)
  expect(await read()).toEqual([])
  look = taskResult('t1', 'COMPLETED', { isLook: true, said: 'done' })
  await step(minute)

  expect(textsOf(await read())).toEqual(['done'])
})

test.each([[undefined, 1], [3, 4], [-100, 1], ['5', 6], [{ toString: 1 }, 1], [8, undefined]])(
  'a message that claims %j crossings is sent with %s',
  async (crossings, expected) => {
    const metadata = { ...crossings !== undefined && { crossings } }
    const body = send10({ parts: [{ text: 'hi' }], metadata })
    expect((await postA2a(grid, grid.alice.key, body, {}, endpointOf(robot))).status).toBe(200)
    await step()

    expect(sent().map(({ metadata }) => metadata)).toMatchObject(
      expected === undefined ? [] : [{ crossings: expected, from: '@alice' }],
    )
  },
)

test('a remote agent is told that a message came from Slack', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: '@robot', text: 'hi', via: 'slack' })
  await step()

  expect(sent().map(({ metadata }) => metadata)).toEqual([{ hops: 0, crossings: 1, from: '@alice', via: 'slack' }])
})
