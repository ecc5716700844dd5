/** An inbox is in commit order. Ids are generated before the commit, so their order may differ. */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { cursorAt, readAgain } from '../../../src/grid/messaging/read-again.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    // The messages are composed in reverse order of their commits.
    await sendAll(['four', 'three', 'two', 'one'])
  })

  test('messages are read in commit order, in one batch or in batches of one message', async () => {
    const first = await readMessages(bob(), { limit: 1 })
    const second = await readMessages(bob(), { limit: 1 })
    const rest = await readMessages(bob(), {})

    expect([first, second, rest].map(texts)).toEqual([['one'], ['two'], ['three', 'four']])
  })

  test('peeked messages, and messages that are read again, are in commit order', async () => {
    const start = cursorAt(bob(), grid.bob.id, 0)
    expect(texts(await readAgain(bob(), {}))).toEqual(['one', 'two', 'three', 'four'])
    await readMessages(bob(), {})

    expect(texts(await readAgain(bob(), { since: 'last_batch' }))).toEqual(['one', 'two', 'three', 'four'])
    expect(texts(await readAgain(bob(), { since: start }))).toEqual(['one', 'two', 'three', 'four'])
    expect(texts(await readAgain(bob(), { since: '1h' }))).toEqual(['one', 'two', 'three', 'four'])
  })
})

/** Composes the messages in this order, and stores them in reverse order. */
async function sendAll([text, ...others]: string[]): Promise<void> {
  const alice = storeOf(grid, grid.alice)
  const write: typeof alice.write = async (statements) => {
    if (others.length > 0) await sendAll(others)
    return await alice.write(statements)
  }
  await sendMessage({ ...alice, write }, callingAgent(alice.actor), { to: 'bob', text })
}

function bob() {
  return storeOf(grid, grid.bob)
}

function texts({ messages }: { messages: { message: string }[] }): string[] {
  return messages.map(({ message }) => message)
}
