/** Unread messages that expire or are retracted. See docs/delivery.md, "Messages that end". */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { retractMessage } from '../../../src/grid/messaging/retract-message.ts'
import { continueTask } from '../../../src/grid/tasks/start-task.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { Signal } from '../../../src/lib/notifier.ts'
import { minute, second } from '../../../src/lib/time.ts'
import { expireMessages } from '../../../src/worker/retention.ts'
import { startWorker } from '../../../src/worker/worker.ts'
import { dump, rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../../support/grid.ts'
import { ack, lease, peek, post, release } from '../../support/inbox.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { callRest } from '../../support/rest.ts'
import { askFor } from '../../support/tasks.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid

const read = async (agent: TestAgent, args = {}) => (await callTool(grid, agent.key, 'read_messages', args)).text
const texts = async (agent: TestAgent, args = {}) =>
  (await read(agent, args)).map(({ message }: { message: string }) => message)
const retract = (agent: TestAgent, id: string) => callRest(grid, agent.key, 'DELETE /api/v1/messages/{id}', { id })
const status = async (message_id: string, agent = grid.alice) =>
  (await callTool(grid, agent.key, 'message_status', { message_id })).text
const send = async (to: string, more: object = {}) =>
  (await callTool(grid, grid.alice.key, 'send_message', { to, message: 'for a while', ...more })).text.message_id
const withFile = async (to: string, expiresInSeconds?: number) => {
  const parts = [{ text: 'see the file' }, { raw: btoa('f'.repeat(20_000)), filename: 'a.bin' }]
  const a2a = { messageId: 'x', parts }
  return (await sendMessage(storeOf(grid, grid.alice), { to, text: 'for a while', a2a, expiresInSeconds })).id
}
const readPart = (agent: TestAgent, part_id: string) => callTool(grid, agent.key, 'read_part', { part_id })
const filesOf = async () =>
  Number((await rows(grid, 'SELECT count(*) AS n FROM parts WHERE account_id = ?', [grid.acme.id]))[0].n)

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test('an expired message reaches no reader, and its sender sees that it expired', async () => {
    const id = await send('@bob', { expires_in_seconds: 10 })
    await send('@bob', { message: 'to stay' })
    const asSince = { since: new Date(grid.clock.now - minute).toISOString() }
    grid.clock.now += 10 * second

    // The expired message is hidden even before the expiry worker has run.
    expect(await texts(grid.bob, { peek: true })).toEqual(['to stay'])
    expect(await texts(grid.bob, asSince)).toEqual(['to stay'])
    expect((await callTool(grid, grid.bob.key, 'read_messages', { message_id: id })).code).toBe('message_not_found')
    expect((await lease(grid, grid.bob.key, { message_ids: [id] })).body).toMatchObject({ lease_id: null })
    expect(await texts(grid.bob)).toEqual(['to stay'])
    expect(await read(grid.bob)).toEqual([])
    await expireMessages(grid.store)

    expect((await peek(grid, grid.bob.key)).body.unread).toBe(0)
    const { delivery, timeline } = await status(id)
    expect(delivery).toBe('expired')
    expect(timeline).toMatchObject([{ event: 'stored' }, { event: 'expired', alias: '@bob' }])
  })

  test("a server's worker expires messages", async () => {
    const id = await send('@bob', { expires_in_seconds: 10 })
    grid.clock.now += minute
    const worker = await startWorker(grid.store)
    await waitFor('the expiry', async () => (await status(id)).delivery === 'expired')
    await worker.stop()
  })

  test('a leased message cannot expire until its lease ends without an ack', async () => {
    const id = await send('@bob', { expires_in_seconds: 10 })
    const { body } = await lease(grid, grid.bob.key)
    grid.clock.now += minute
    await expireMessages(grid.store)
    expect((await status(id)).delivery).toBe('leased')

    await release(grid, grid.bob.key, body.lease_id)
    expect(await read(grid.bob)).toEqual([])
    await expireMessages(grid.store)

    expect((await status(id)).delivery).toBe('expired')
  })

  test('a message that is leased while the worker runs does not expire', async () => {
    const id = await send('@bob', { expires_in_seconds: 10 })
    const later = grid.clock.now + minute
    const found = await grid.store.global.retention.expiring(later, 10)
    expect(found).toMatchObject([{ messageId: id }])
    const { body } = await lease(grid, grid.bob.key)

    await grid.acme.store.write(grid.acme.store.change.endings.expire(found, later))

    await ack(grid, grid.bob.key, body.lease_id)
    expect((await status(id)).delivery).toBe('read')
  })

  test('if the fifth release of a message comes after its expiry, the message expires instead of being parked', async () => {
    const id = await send('@bob', { expires_in_seconds: 60 })
    for (let n = 1; n <= 5; n++) {
      const { body } = await lease(grid, grid.bob.key, { seconds: 120 })
      if (n === 5) grid.clock.now += minute
      await release(grid, grid.bob.key, body.lease_id)
    }
    await expireMessages(grid.store)

    expect((await status(id)).delivery).toBe('expired')
  })

  test('a retracted message disappears for its reader, with text and files, and its sender sees the retraction', async () => {
    const id = await withFile('@bob')
    expect(await filesOf()).toBe(1)

    const retracted = await retract(grid.alice, id)

    expect(retracted).toMatchObject({ status: 200, body: { message_id: id, recipient: '@bob', delivery: 'retracted' } })
    expect(await read(grid.bob)).toEqual([])
    expect((await peek(grid, grid.bob.key)).body.unread).toBe(0)
    expect((await callTool(grid, grid.bob.key, 'read_messages', { message_id: id })).code).toBe('message_not_found')
    expect((await readPart(grid.bob, `${id}.1`)).code).toBe('part_not_found')
    expect(await filesOf()).toBe(0)
    expect(await dump(grid, grid.acme)).not.toContain('for a while')
    expect(await status(id)).toMatchObject({ delivery: 'retracted', timeline: [{}, { event: 'retracted' }] })
    expect((await retract(grid.alice, id)).status).toBe(200)
  })

  test("only a message's sender can retract it, and only before a reader has it", async () => {
    const id = await send('@bob')
    for (const other of [grid.bob, grid.eve]) {
      expect(await retract(other, id)).toMatchObject({ status: 404, body: { error: { code: 'message_not_found' } } })
    }
    const { body } = await lease(grid, grid.bob.key)
    expect(await retract(grid.alice, id)).toMatchObject({ status: 409, body: { error: { code: 'message_read' } } })
    await release(grid, grid.bob.key, body.lease_id)
    expect((await callTool(grid, grid.alice.key, 'retract_message', { message_id: id })).text).toMatchObject({
      delivery: 'retracted',
    })
  })

  test('of a simultaneous read and retraction of a message, exactly one succeeds', async () => {
    const [alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
    // Runs `act` after this many database reads.
    const later = async <T>(steps: number, act: () => Promise<T>) => {
      for (let n = 0; n < steps; n++) await bob.read.inbox.unread(grid.bob.id)
      return await act()
    }
    const winners: string[] = []
    for (let n = 0; n < 24; n++) {
      const id = await send('@bob')
      const isRetracted = later(3, () => retractMessage(alice, callingAgent(alice.actor), id))
        .then(() => true, () => false)
      const messages = await later(n % 8, async () => (await readMessages(bob, {})).messages.length)
      expect(messages).toBe(await isRetracted ? 0 : 1)
      winners.push(messages === 0 ? 'retraction' : 'read')
    }
    expect(new Set(winners).size).toBe(2)
  })

  test('a post can be retracted until a member has read it, and expires for members who have not read it', async () => {
    const carol = await grid.acme.agent('carol')
    await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob', 'carol'] })
    const first = await withFile('#team')
    expect((await retract(grid.alice, first)).status).toBe(200)
    expect(await read(grid.bob)).toEqual([])

    const second = await withFile('#team', 10)
    expect(await texts(grid.bob)).toEqual(['for a while'])
    expect((await retract(grid.alice, second)).body.error.code).toBe('message_read')
    grid.clock.now += minute
    await expireMessages(grid.store)

    const { delivery, timeline } = await status(second)
    expect(delivery).toBe('read')
    expect(timeline).toContainEqual(expect.objectContaining({ alias: '@carol', event: 'expired' }))
    // The member who has read the message may fetch its file.
    expect(await filesOf()).toBe(1)
    expect((await readPart(grid.bob, `${second}.1`)).code).toBe(undefined)
    expect((await readPart(carol, `${second}.1`)).code).toBe('part_not_found')
    const third = await withFile('#team', 10)
    grid.clock.now += minute
    await expireMessages(grid.store)
    expect((await status(third)).delivery).toBe('expired')
    expect(await filesOf()).toBe(1)
    const details = 'SELECT a2a FROM messages WHERE account_id = ? AND id = ?'
    expect(await rows(grid, details, [grid.acme.id, third])).toEqual([{ a2a: null }])
  })

  test('a message to another account can be retracted and can expire', async () => {
    const desk = await grid.evil.agent('desk', { visibility: 'public' })
    const id = await send('@desk')
    expect((await retract(grid.alice, id)).status).toBe(200)
    expect(await read(desk)).toEqual([])
    const expiring = await send('@desk', { expires_in_seconds: 10 })
    grid.clock.now += minute
    await expireMessages(grid.store)
    expect((await status(expiring)).delivery).toBe('expired')
  })

  test("retracting a task's message cancels the task, and a task fails if its message expires", async () => {
    const client = storeOf(grid, grid.alice)
    const messageOf = async (task: string) =>
      String(
        (await rows(grid, 'SELECT message_id FROM tasks WHERE account_id = ? AND id = ?', [grid.acme.id, task]))[0]
          .message_id,
      )
    const asked = await askFor(client, 'never mind')
    expect((await retract(grid.alice, await messageOf(asked.id))).status).toBe(200)
    const canceled = await getTask(client, asked.id)
    expect(canceled.status).toMatchObject({
      state: 'canceled',
      message: { parts: [{ text: 'Its message was retracted.' }] },
    })
    expect(canceled.history).toMatchObject([{ parts: [{ text: 'Retracted' }] }])

    // Sets the expiry in the database, because no interface can let a task's message expire yet.
    const late = await askFor(client, 'too late')
    await rows(
      grid,
      'UPDATE deliveries SET expires_at = ? WHERE account_id = ? AND seq IN (SELECT seq FROM v_deliveries WHERE message_id = ?)',
      [
        grid.clock.now,
        grid.acme.id,
        await messageOf(late.id),
      ],
    )
    await expireMessages(grid.store)
    expect((await getTask(client, late.id)).status.state).toBe('failed')
  })

  test('a recipient that works on a task is notified when a further message of the task is retracted', async () => {
    const client = storeOf(grid, grid.alice)
    const { id: taskId } = await askFor(client, 'a question')
    await read(grid.bob)
    const message = { messageId: 'more', parts: [{ text: 'more' }] }
    const { sent } = await continueTask(client, callingAgent(client.actor), { taskId, message })

    expect((await retract(grid.alice, sent.id)).status).toBe(200)

    expect((await getTask(client, taskId)).status.state).toBe('canceled')
    expect(await texts(grid.bob)).toEqual([`@alice canceled task ${taskId}. It expects no answer any more.`])
  })

  test("an answer in another agent's task cannot be retracted", async () => {
    await askFor(storeOf(grid, grid.alice), 'a question', { mode: 'receipt' })
    const [{ message_id }] = await read(grid.bob)
    const answer = await callTool(grid, grid.bob.key, 'send_message', {
      ...{ to: '@alice', message: 'yes', reply_to_message_id: message_id },
    })
    expect((await retract(grid.bob, answer.text.message_id)).body.error.code).toBe('message_read')
  })

  test('a waiting sender wakes when its message expires or is retracted', async () => {
    const signal = new Signal()
    const stop = grid.store.waiting.notifier.watch(grid.alice.id, signal)
    const signals = () =>
      rows(grid, 'SELECT count(*) AS n FROM log WHERE subject = ?', [grid.alice.id])
        .then(([{ n }]) => Number(n))
    const before = await signals()
    await send('@bob', { expires_in_seconds: 10 })
    grid.clock.now += minute
    await expireMessages(grid.store)
    await signal.raised()
    expect(await signals()).toBe(before + 1)
    await retract(grid.alice, await send('@bob'))
    await signal.raised()
    expect(await signals()).toBe(before + 2)
    stop()
  })

  test("a message's lifetime is 10 to 604800 seconds, and a different lifetime under the same idempotency key is a conflict", async () => {
    const body = { to: '@bob', message: 'hi' }
    for (const expires_in_seconds of [9, 10.5, 'ten']) {
      expect((await post(grid, grid.alice.key, { ...body, expires_in_seconds })).status).toBe(400)
    }
    const { body: clipped } = await post(grid, grid.alice.key, { ...body, expires_in_seconds: 604_801 })
    expect(clipped).toMatchObject({ clipped: { expires_in_seconds: 604_800 } })
    expect((await post(grid, grid.alice.key, { ...body, expires_in_seconds: 604_800 }, 'key')).status).toBe(201)
    expect((await post(grid, grid.alice.key, { ...body, expires_in_seconds: 10 }, 'key')).status).toBe(409)
  })
})
