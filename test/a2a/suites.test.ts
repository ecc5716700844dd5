/**
 * The behaviour that the official A2A suites (TCK and ACTS) expect of an agent, at the endpoint of an ordinary MCP
 * client. The suites choose the behaviour by the beginning of a message's id or text.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { openA2aStream, postA2a, request, send10 } from '../support/a2a.ts'
import { type Responder, startResponder } from '../support/responder.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

const path = '/a2a/v1/agents/bob'
const file = { raw: expect.stringMatching(/^[\w+/]+=*$/), filename: 'output.txt', mediaType: 'text/plain' }

let grid: LiveGrid
let responder: Responder
beforeAll(async () => {
  grid = await liveGrid()
  await updateAgent(grid.acme.store, { agent: 'bob', messageReplies: true, callersWait: 'yes' })
  responder = await startResponder({ url: grid.url, key: grid.bob.key, longMs: 300, resubscribeMs: 1_000 })
})
afterAll(async () => {
  await responder.stop()
  await grid.close()
  expect(responder.faults).toEqual([])
})

const withId = (messageId: string, more: Record<string, unknown> = {}) => ({ messageId, metadata: undefined, ...more })
const withText = (text: string, more: Record<string, unknown> = {}) =>
  withId(crypto.randomUUID(), { parts: [{ text }], ...more })

async function call(body: unknown) {
  const answer = await postA2a(grid, grid.alice.key, body, {}, path)
  if (answer.body.error) throw Object.assign(new Error(answer.body.error.message), answer.body.error)
  return answer.body.result
}

async function send(message: Record<string, unknown>, configuration?: Record<string, unknown>) {
  return (await call(send10(message, { configuration }))).task
}

async function stream(message: Record<string, unknown>) {
  const body = { ...send10(message), method: 'SendStreamingMessage' }
  return await openA2aStream(grid, grid.alice.key, body, { path })
}

const get = (id: string) => call(request('GetTask', { id }))

/** Summarizes an event: `task` and the state, a state alone, or the text of an artifact. */
// deno-lint-ignore no-explicit-any -- events have many shapes
function inShort(event: { result?: Record<string, any> }): string {
  const { task, statusUpdate, artifactUpdate } = event.result!
  if (task) return `task ${stateOf(task)}`
  if (statusUpdate) return stateOf(statusUpdate)
  const { parts } = artifactUpdate.artifact
  const content = parts.map(({ text, filename }: Record<string, string>) => text ?? filename).join('')
  return `${artifactUpdate.append ? '+' : ''}${content}${artifactUpdate.lastChunk ? '.' : ''}`
}

const stateOf = (of: { status: { state: string } }) => of.status.state.replace('TASK_STATE_', '').toLowerCase()
const partsOf = (task: { artifacts?: { parts: unknown[] }[] }) => (task.artifacts ?? []).map(({ parts }) => parts)

describe("the suites' message ids", () => {
  test.each([
    ['tck-artifact-text', 'completed', [[{ text: 'Generated text content' }]]],
    ['tck-artifact-file', 'completed', [[file]]],
    ['tck-artifact-file-url', 'completed', [[{
      url: 'https://example.com/output.txt',
      filename: 'output.txt',
      mediaType: 'text/plain',
    }]]],
    ['tck-artifact-data', 'completed', [[{ data: { key: 'value', count: 42 } }]]],
    ['tck-input-required', 'input_required', []],
    ['tck-reject-task', 'rejected', []],
  ])('a message whose id begins with %s gets a task that is %s', async (beginning, state, artifacts) => {
    const task = await send(withId(`${beginning}-${crypto.randomUUID()}`))

    expect(stateOf(task)).toBe(state)
    expect(partsOf(task)).toEqual(artifacts)
    expect(await get(task.id)).toEqual(task)
  })

  test.each([
    ['tck-stream-001', ['Stream hello from TCK.', 'completed']],
    ['tck-stream-artifact-file', ['output.txt.', 'completed']],
    ['tck-stream-artifact-chunked', ['chunk-1 ', '+chunk-2.', 'completed']],
  ])('a message whose id begins with %s gets a stream', async (beginning, events) => {
    const streamed = (await (await stream(withId(`${beginning}-${crypto.randomUUID()}`))).rest()).map(inShort)

    expect(streamed).toEqual(['task submitted', 'working', ...events])
  })

  test("a message whose id begins with tck-message-response gets the agent's plain reply as a message", async () => {
    const { message } = await call(send10(withId('tck-message-response-1')))
    expect(message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] })
    expect(stateOf(await get(message.taskId))).toBe('completed')

    const streamed = await (await stream(withId('tck-message-response-2'))).rest()
    expect(streamed.map(({ result }) => result.message.parts)).toEqual([[{ text: 'Direct message response' }]])
  })

  test('a task for test-resubscribe-message-id takes long enough for a second subscriber', async () => {
    const first = await stream(withId('test-resubscribe-message-id'))
    const { result: { task } } = (await first.next())!
    const second = await openA2aStream(grid, grid.alice.key, request('tasks/resubscribe', { id: task.id }), { path })

    expect((await second.next())?.result).toMatchObject({ kind: 'task', id: task.id })
    expect((await second.rest()).at(-1)?.result).toMatchObject({ final: true, status: { state: 'completed' } })
    expect(inShort((await first.rest()).at(-1)!)).toBe('completed')
  })
})

describe("the suites' message texts", () => {
  test('a task for tck-multi-turn asks for input until it is told to finish', async () => {
    const { id } = await send(withText('tck-multi-turn begin'))

    expect(stateOf(await send(withText('more', { taskId: id })))).toBe('input_required')
    expect(stateOf(await send(withText('still more', { taskId: id })))).toBe('input_required')
    const task = await send(withText('done', { taskId: id }))

    expect(stateOf(task)).toBe('completed')
    const asked = task.history.filter(({ role }: { role: string }) => role === 'ROLE_USER')
    expect(asked.map(({ parts }: { parts: unknown[] }) => parts)).toEqual([
      [{ text: 'tck-multi-turn begin' }],
      [{ text: 'more' }],
      [{ text: 'still more' }],
      [{ text: 'done' }],
    ])
  })
})
