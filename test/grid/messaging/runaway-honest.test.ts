/** What must not be paused: one-way traffic, pipelines and honest conversations. docs/delivery.md, "Conversations that run away". */
import { afterEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { rows } from '../../support/database.ts'
import { pausesOf } from '../../support/echoes.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid

afterEach(() => grid.close())

test(
  'a script that posts 10,000 messages one way takes no turn, however it is read and whatever it names',
  async () => {
    grid = await testGrid()
    const [bob, alice] = [as(grid.bob), as(grid.alice)]
    const task = await sendMessage(bob, { to: '@alice', text: 'report', conversationId: 'job' })
    await readMessages(alice, {})

    for (let n = 0; n < 10_000; n++) {
      const { turns } = await sendMessage(alice, {
        to: '@bob',
        text: `line ${n}`,
        // One in three answers the task, one follows in the conversation, and one is bare.
        ...[{ replyToMessageId: task.id }, { conversationId: 'job' }, {}][n % 3],
      })
      expect(turns).toBeUndefined()
      if (n % 50 === 49) await readMessages(bob, {})
    }

    // The answer to the task is one.
    expect(await countedTurns()).toEqual([{ key: '@alice @bob', turns: 1 }, { key: 'id job', turns: 1 }])
    expect(await pausesOf(grid)).toEqual([])
  },
  120_000,
)

function as({ id, alias }: TestAgent): AccountStore {
  return grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
}

async function countedTurns() {
  const sql = 'SELECT key, turns FROM conversation_turns WHERE account_id = ? AND turns > 0 ORDER BY key'
  return await rows(grid, sql, [grid.acme.id])
}
