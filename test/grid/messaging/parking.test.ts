/** Messages that cannot be shown (reliability 2.1, poison): set aside, and nobody else suffers. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { giveBack } from '../../../src/grid/messaging/leases.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { readAgain } from '../../../src/grid/messaging/read-again.ts'
import { awaitMessages } from '../../../src/grid/messaging/waiting.ts'
import { dump } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestAgent, TestGrid } from '../../support/grid.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })
  afterEach(() => grid.close())

  test.each([
    ['A2A details that are no JSON', 'a2a', '{broken'],
    ['a time that is none', 'created_at', 'soon'],
    ['a body that is no text', 'body', new Uint8Array([1]).buffer],
  ])('%s park one message, and the rest is handed out', async (_, column, value) => {
    await send('one')
    const broken = await send('two')
    await send('three')
    await grid.store.write([{
      sql: `UPDATE messages SET ${column} = ? WHERE "account_id" = ? AND id = ?`,
      args: [value, grid.acme.id, broken],
    }])
    const before = await dump(grid, grid.acme)
    const peeked = await readAgain(as(grid.bob), {})
    const after = await dump(grid, grid.acme)
    const read = await readMessages(as(grid.bob), {})
    const rest = await readMessages(as(grid.bob), {})
    const again = await readAgain(as(grid.bob), { since: 'last_batch' })

    expect(after).toBe(before)
    for (const { messages } of [peeked, read, again]) {
      expect(messages.map(({ message }) => message)).toEqual(['one', 'three'])
    }
    expect(rest).toMatchObject({ messages: [], remaining: 0 })
    const logged = grid.logs.filter((line) => line.includes('cannot be shown is parked'))
    expect(logged).toEqual([expect.stringContaining(broken)])
  })

  test('its sender is told that it failed', async () => {
    const id = await poison()
    await readMessages(as(grid.bob), {})

    expect(await messageStatus(as(grid.alice), id)).toMatchObject({
      delivery: 'failed',
      readBy: [],
      timeline: [{ event: 'stored' }, { alias: 'bob', event: 'parked', at: grid.clock.now }],
    })
  })

  test('when a whole batch is parked, what waits behind it is read at once', async () => {
    await poison()
    await poison()
    await send('good')

    expect((await readMessages(as(grid.bob), { limit: 1 })).messages).toMatchObject([{ message: 'good' }])
  })

  test('of a hand-out that is given back, what was parked stays parked and the rest comes again', async () => {
    await send('one')
    await poison()
    await send('three')
    const { handOut } = await readMessages(as(grid.bob), {})
    await giveBack(as(grid.bob), handOut!)
    const again = await readMessages(as(grid.bob), {})

    expect(again.messages.map(({ message, redelivered }) => [message, redelivered])).toEqual([
      ['one', true],
      ['three', true],
    ])
    expect(again.remaining).toBe(0)
  })

  test('a waiting read is not answered by what cannot be shown', async () => {
    await poison()
    const reading = awaitMessages(as(grid.bob), {}, { seconds: 10 })
    await new Promise((resolve) => setTimeout(resolve, 100))
    await send('good')

    expect((await reading).messages).toMatchObject([{ message: 'good' }])
  })
})

/** A message whose row is damaged, as by a faulty disk or hand. */
async function poison(): Promise<string> {
  const id = await send('bad')
  await grid.store.write([{
    sql: `UPDATE messages SET a2a = '{broken' WHERE "account_id" = ? AND id = ?`,
    args: [grid.acme.id, id],
  }])
  return id
}

async function send(text: string): Promise<string> {
  return (await sendMessage(as(grid.alice), { to: 'bob', text })).id
}

function as({ id, alias }: TestAgent) {
  return grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
}
