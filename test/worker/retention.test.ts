/** Removal of old messages and keys (docs/delivery.md, "Retention"), with a test clock. */
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { messageStatus } from '../../src/grid/messaging/message-status.ts'
import type { SendInput } from '../../src/grid/message/outgoing-message.ts'
import { readAgain } from '../../src/grid/messaging/read-again.ts'
import { day } from '../../src/lib/time.ts'
import { sweep } from '../../src/worker/retention.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open({ env: { RETENTION_DAYS: '30' } })
  })

  test('a message, read or unread, is stored until its retention ends, and then removed with all its rows', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    const { id } = await send({
      to: 'bob',
      text: 'release_count',
      idempotencyKey: 'k',
      a2a: { messageId: 'm', parts: [{ text: 'x'.repeat(10_000) }] },
    })
    const { lease } = await readMessages(storeOf(grid, grid.bob), {})
    await leaseOf(storeOf(grid, grid.bob), lease!.id).release()
    await send({ to: 'bob', text: 'read' })
    await readMessages(storeOf(grid, grid.bob), {})
    await send({ to: '#general', text: 'unread' })

    grid.clock.now += 30 * day - 1
    await sweep(grid.store)
    expect((await readAgain(storeOf(grid, grid.bob), { since: '60d' })).messages).toHaveLength(3)
    expect(await partCount()).toBe(1)
    grid.clock.now += 1
    await send({ to: 'bob', text: 'new' })
    await sweep(grid.store)

    expect(await texts(grid.bob)).toEqual(['new'])
    expect(await rowCounts()).toEqual([1, 1, 0, 0])
    expect(await partCount()).toBe(0)
    await expect(messageStatus(storeOf(grid, grid.alice), id)).rejects.toMatchObject({ code: 'message_not_found' })
  })

  test('an idempotency key is removed after 7 days, and its message is kept', async () => {
    await send({ to: 'bob', text: 'hi', idempotencyKey: 'k' })

    grid.clock.now += 7 * day - 1
    await sweep(grid.store)
    expect(await rowCounts()).toEqual([1, 1, 1, 0])
    grid.clock.now += 1
    await sweep(grid.store)

    expect(await rowCounts()).toEqual([1, 1, 0, 0])
  })

  test('many messages of several accounts are removed in several units, by two simultaneous sweeps', async () => {
    for (let n = 0; n < 450; n += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, i) => send({ to: 'bob', text: `${n + i}` })))
    }
    await grid.evil.agent('mallory')
    await sendMessage(storeOf(grid, grid.eve, grid.evil), { to: 'mallory', text: 'hi' })
    grid.clock.now += 31 * day
    await send({ to: 'bob', text: 'new' })

    await Promise.all([sweep(grid.store), sweep(grid.store)])

    expect(await rowCounts()).toEqual([1, 1, 0, 0])
    expect(await texts(grid.bob)).toEqual(['new'])
    expect(await rows(grid, 'SELECT 1 FROM messages WHERE account_id = ?', [grid.evil.id])).toEqual([])
  }, 300_000)
})

/** Returns the numbers of Acme's messages, deliveries, idempotency keys and released leases. */
async function rowCounts(): Promise<number[]> {
  const tables = ['messages', 'deliveries', 'idempotency_keys', 'lease_releases']
  const found = await Promise.all(
    tables.map((table) => rows(grid, `SELECT 1 FROM "${table}" WHERE "account_id" = ?`, [grid.acme.id])),
  )
  return found.map(({ length }) => length)
}

async function partCount(): Promise<number> {
  return (await rows(grid, 'SELECT 1 FROM parts WHERE account_id = ?', [grid.acme.id])).length
}

async function texts(agent: TestAgent): Promise<string[]> {
  const { messages } = await readAgain(storeOf(grid, agent), { since: '60d' })
  return messages.map(({ message }) => message)
}

function send(input: SendInput) {
  return sendMessage(storeOf(grid, grid.alice), input)
}
