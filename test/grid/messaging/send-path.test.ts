/** The steps of a send and their guarantees. */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import type { Statement } from '../../../src/store/sql.ts'
import { rows, updateTrial } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test('a send whose unit runs twice counts once towards the trial, and a refused send does not count', async () => {
    await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: grid.clock.now + 1 })
    const twice = {
      ...storeOf(grid, grid.alice),
      write: async (statements: Statement[]) => {
        await grid.acme.store.write(statements)
        return await grid.acme.store.write(statements)
      },
    }

    await send(twice, 'hi')
    await send(storeOf(grid, grid.alice), 'to nobody', 'nobody').catch(() => {})

    expect(await rows(grid, 'SELECT used FROM trials WHERE account_id = ?', [grid.acme.id])).toEqual([{ used: 1 }])
  })

  test('a message is sent as the given agent, and its type depends on the caller', async () => {
    const alice = { agentId: grid.alice.id, alias: 'alice' }
    const oauth = { type: 'agent' as const, ...alice, credentialId: 'grant', userId: 'ann' }

    for (const actor of [oauth, callingAgent(storeOf(grid, grid.alice).actor), grid.acme.store.actor]) {
      await sendMessage(grid.store.account(grid.acme.id, actor), alice, { to: 'bob', text: 'hi' })
    }

    const { messages } = await readMessages(storeOf(grid, grid.bob), {})
    expect(messages.map(({ user, type }) => `${user} ${type}`)).toEqual([
      '@alice agent',
      '@alice agent',
      '@alice system',
    ])
  })
})

function agent(account: AccountStore) {
  return callingAgent(account.actor)
}

function send(account: AccountStore, text: string, to = 'bob') {
  return sendMessage(account, agent(account), { to, text })
}
