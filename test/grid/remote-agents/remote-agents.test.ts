import { afterEach, beforeEach, expect, test } from 'vitest'
import { RemoteLines } from '../../../src/worker/remote-lines.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import {
  messageResult,
  type RemoteAgent,
  remoteAgent,
  type RemoteCall,
  taskResult,
} from '../../support/remote-agent.ts'

let grid: TestGrid
let remote: RemoteAgent
let lines: RemoteLines

beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  lines = new RemoteLines(grid.store)
})
afterEach(async () => {
  await lines.stop()
  await remote.close()
  await grid.close()
})

async function withRemote(answer: (call: RemoteCall) => ReturnType<Parameters<typeof remoteAgent>[0]>, card?: object) {
  remote = await remoteAgent(answer, card)
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', {
    alias: 'robot',
    type: 'a2a',
    remoteUrl: remote.url,
    remoteToken: 'secret-of-robot',
  })
}

/** Everything that is due now is tried. */
async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  await lines.run()
  await lines.settled()
}

const send = async (message: string, more: object = {}) =>
  (await callTool(grid, grid.alice.key, 'send_message', { to: '@robot', message, ...more })).text
const read = async () => (await callTool(grid, grid.alice.key, 'read_messages')).text
const status = async (id: string) => (await callTool(grid, grid.alice.key, 'message_status', { message_id: id })).text

test('a message reaches the remote agent with its token, and the answer comes back as a reply', async () => {
  await withRemote(() => messageResult('42'))
  const { message_id } = await send('What is 6 times 7?')
  expect((await status(message_id)).delivery).toBe('pending')

  await step()

  const [{ method, params, headers }] = remote.calls
  expect(method).toBe('SendMessage')
  expect(params.message).toMatchObject({ messageId: message_id, parts: [{ text: 'What is 6 times 7?' }] })
  expect(headers).toMatchObject({
    authorization: 'Bearer secret-of-robot',
    'idempotency-key': message_id,
    'a2a-version': '1.0',
  })
  expect(remote.cardHeaders[0].authorization).toBe('Bearer secret-of-robot')
  expect(await read()).toMatchObject([{
    user: '@robot',
    message: '42',
    reply_to_message_id: message_id,
    type: 'agent',
  }])
  expect((await status(message_id)).delivery).toBe('delivered')
})

test('messages arrive in their order, and a conversation goes on in its context', async () => {
  await withRemote(() => messageResult('ok'))
  for (const text of ['one', 'two', 'three']) await send(text)

  await step()
  await step()
  await step()

  expect(remote.calls.map(({ params }) => [params.message!.parts, params.message!.contextId])).toEqual([
    [[{ text: 'one' }], undefined],
    [[{ text: 'two' }], 'remote-context'],
    [[{ text: 'three' }], 'remote-context'],
  ])
})
