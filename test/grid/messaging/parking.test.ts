/** Messages that cannot be displayed are parked, and the others delivered. docs/delivery.md, "Parked messages". */
import { beforeEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { readAgain } from '../../../src/grid/messaging/read-again.ts'
import { dump } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test.each([
    ['A2A details that are no JSON', 'a2a', '{broken'],
    ['a time that is none', 'created_at', 'soon'],
    ['a body that is no text', 'body', new Uint8Array([1]).buffer],
  ])('a message with %s is parked, and the others are leased', async (_, column, value) => {
    await send('one')
    const damaged = await send('two')
    await send('three')
    await grid.store.write([{
      sql: `UPDATE messages SET ${column} = ? WHERE "account_id" = ? AND id = ?`,
      args: [value, grid.acme.id, damaged],
    }])
    const before = await dump(grid, grid.acme)
    const peeked = await readAgain(storeOf(grid, grid.bob), {})
    const after = await dump(grid, grid.acme)
    const read = await readMessages(storeOf(grid, grid.bob), {})
    const rest = await readMessages(storeOf(grid, grid.bob), {})
    const again = await readAgain(storeOf(grid, grid.bob), { since: 'last_batch' })

    expect(after).toBe(before)
    for (const { messages } of [peeked, read, again]) {
      expect(messages.map(({ message }) => message)).toEqual(['one', 'three'])
    }
    expect(rest).toMatchObject({ messages: [], remaining: 0 })
    const logged = grid.logs.filter((line) => line.includes('cannot be shown is parked'))
    expect(logged).toEqual([expect.stringContaining(damaged)])
  })

  test('when a whole batch is parked, the same read returns the following messages', async () => {
    await sendDamaged()
    await sendDamaged()
    await send('good')

    expect((await readMessages(storeOf(grid, grid.bob), { limit: 1 })).messages).toMatchObject([{ message: 'good' }])
  })
})

/** Sends a message, and then damages its row like a faulty disk. */
async function sendDamaged(): Promise<string> {
  const id = await send('bad')
  await grid.store.write([{
    sql: `UPDATE messages SET a2a = '{broken' WHERE "account_id" = ? AND id = ?`,
    args: [grid.acme.id, id],
  }])
  return id
}

async function send(text: string): Promise<string> {
  return (await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text })).id
}
