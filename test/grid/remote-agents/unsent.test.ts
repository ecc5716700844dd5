/** A message to a remote agent can end only before it is sent. docs/delivery.md, "Messages that end". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { minute } from '../../../src/lib/time.ts'
import { expireMessages } from '../../../src/worker/retention.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { type Answer, messageResult, type RemoteAgent, remoteAgent } from '../../support/remote-agent.ts'
import { waitFor } from '../../support/wait-for.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

let grid: TestGrid
let remote: RemoteAgent
/** Created with the first step, because a started outbox would soon send messages by itself. */
let outboxes: TestOutboxes | undefined
let answer: Answer

beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  answer = messageResult('ok')
  remote = await remoteAgent(() => answer)
  const robot = { alias: 'robot', type: 'a2a', remoteUrl: remote.url }
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', robot)
})
afterEach(async () => {
  await outboxes?.stop()
  outboxes = undefined
  await remote.close()
  await grid.close()
})

const asAlice = (tool: string, args: object) => callTool(grid, grid.alice.key, tool, { ...args })
const send = async (more: object = {}) =>
  String((await asAlice('send_message', { to: '@robot', message: 'hi', ...more })).text.message_id)
const retract = async (message_id: string) => (await asAlice('retract_message', { message_id })).code ?? 'retracted'
const deliveryOf = async (message_id: string) => (await asAlice('message_status', { message_id })).text.delivery
async function start(): Promise<TestOutboxes> {
  outboxes ??= new TestOutboxes(grid.store)
  await outboxes.run()
  return outboxes
}
async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  await (await start()).settled()
}

test('a retracted or expired message to a remote agent is not sent, and the next one is', async () => {
  const retracted = await send()
  const expired = await send({ expires_in_seconds: 10 })
  const next = await send()
  expect(await retract(retracted)).toBe('retracted')
  grid.clock.now += minute

  await step()

  expect(remote.calls.map(({ params }) => params.message!.messageId)).toEqual([next])
  await expireMessages(grid.store)
  expect([await deliveryOf(retracted), await deliveryOf(expired)]).toEqual(['retracted', 'expired'])
})

test('a message in transit does not expire, but the message after it does', async () => {
  answer = 'hang'
  const sent = await send({ expires_in_seconds: 10 })
  const behind = await send({ expires_in_seconds: 10 })
  const later = await send()
  const found = await grid.store.global.retention.expiring(grid.clock.now + minute, 1)
  await start()
  await waitFor('the request', () => remote.calls.length === 1)

  grid.clock.now += minute
  await grid.acme.store.write(grid.acme.store.change.endings.expire(found, grid.clock.now))
  await expireMessages(grid.store)

  expect(await retract(sent)).toBe('message_read')
  expect([await deliveryOf(sent), await deliveryOf(behind)]).toEqual(['pending', 'expired'])
  expect(await retract(later)).toBe('retracted')
})

test.each<[string, Answer]>([
  ['a server that fails', { status: 503 }],
  ['one that does not answer in time', 'hang'],
])('a message that may have reached %s does not expire, and is sent again', async (_, failure) => {
  await grid.store.write([{
    sql: 'UPDATE remote_agents SET answer_ms = 200 WHERE account_id = ?',
    args: [grid.acme.id],
  }])
  answer = failure
  const id = await send({ expires_in_seconds: 10 })
  await step()
  expect(await retract(id)).toBe('message_read')
  answer = messageResult('ok')

  grid.clock.now += minute
  await expireMessages(grid.store)
  await step()

  expect(await deliveryOf(id)).toBe('delivered')
})

test('a message whose server was unreachable can expire or be retracted', async () => {
  await remote.close()
  const retracted = await send()
  const expiring = await send({ expires_in_seconds: 10 })
  await step()

  expect(await retract(retracted)).toBe('retracted')
  await step(minute)
  await expireMessages(grid.store)
  expect(await deliveryOf(expiring)).toBe('expired')
})

test('a message that the server refused counts as sent, so it cannot be retracted', async () => {
  answer = { status: 400 }
  const id = await send()
  await step()

  expect(await deliveryOf(id)).toBe('failed')
  expect(await retract(id)).toBe('message_read')
})

test('a request interrupted by the end of the process is not a failure, and the next process repeats it', async () => {
  answer = 'hang'
  const id = await send()
  const stopped = await start()
  await waitFor('the request', () => remote.calls.length === 1)
  await stopped.stop()
  const failed = 'SELECT attempts, failing_since, error FROM remote_outboxes WHERE account_id = ?'
  expect(await rows(grid, failed, [grid.acme.id])).toEqual([{ attempts: 0, failing_since: null, error: null }])

  await grid.store.write([{
    sql: 'UPDATE remote_outboxes SET claimed_by = ? WHERE account_id = ?',
    args: [`${'b'.repeat(36)} 1`, grid.acme.id],
  }])
  outboxes = undefined
  answer = messageResult('ok')
  await step()
  expect([remote.calls.length, await deliveryOf(id)]).toEqual([2, 'delivered'])
})
