/** The steps of a send: what each of them promises to the others. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { recordActivity } from '../../../src/grid/activity.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import type { Statement } from '../../../src/store/sql.ts'
import { rows, updateTrial } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestAgent, TestGrid } from '../../support/grid.ts'

const call = { tool: 'send_message', arguments: { to: 'bob' }, requestId: null }

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })
  afterEach(() => grid.close())

  test('a recorded send answers as any other send, and leaves one row in the activity log', async () => {
    const sent = await recordActivity(as(grid.alice), call, (account) => send(account, 'hi'))

    expect(sent).toMatchObject({ recipient: '@bob', unread: 0, recipientUnread: 1 })
    expect((await readMessages(as(grid.bob), {})).messages).toMatchObject([{ message_id: sent.id, message: 'hi' }])
    expect(await logged()).toEqual(['send_message ok'])
  })

  test('a recorded send whose recipient was deleted meanwhile stores nothing, and its one row says why', async () => {
    const deleting = before(as(grid.alice), async () => {
      await deleteAgent(grid.acme.store, 'bob')
    })

    await expect(recordActivity(deleting, call, (account) => send(account, 'hi'))).rejects.toMatchObject({
      code: 'recipient_not_found',
    })

    expect(await rows(grid, 'SELECT id FROM messages WHERE account_id = ?', [grid.acme.id])).toEqual([])
    expect(await logged()).toEqual(['send_message recipient_not_found'])
  })

  test('a unit that is carried out twice counts once on the trial, and a refused one counts nothing', async () => {
    await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: grid.clock.now + 1 })
    const twice = {
      ...as(grid.alice),
      write: async (statements: Statement[]) => {
        await grid.acme.store.write(statements)
        return await grid.acme.store.write(statements)
      },
    }

    await send(twice, 'hi')
    await send(as(grid.alice), 'to nobody', 'nobody').catch(() => {})

    expect(await rows(grid, 'SELECT used FROM trials WHERE account_id = ?', [grid.acme.id])).toEqual([{ used: 1 }])
  })

  test('the sender is an argument, and the type follows from who calls', async () => {
    const alice = { agentId: grid.alice.id, alias: 'alice' }
    const oauth = { type: 'agent' as const, ...alice, credentialId: 'grant', userId: 'ann' }

    for (const actor of [oauth, callingAgent(as(grid.alice).actor), grid.acme.store.actor]) {
      await sendMessage(grid.store.account(grid.acme.id, actor), alice, { to: 'bob', text: 'hi' })
    }

    const { messages } = await readMessages(as(grid.bob), {})
    expect(messages.map(({ user, type }) => `${user} ${type}`)).toEqual([
      '@alice agent',
      '@alice agent',
      '@alice system',
    ])
  })
})

function as({ id, alias }: TestAgent): AccountStore {
  return grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
}

function agent(account: AccountStore) {
  return callingAgent(account.actor)
}

function send(account: AccountStore, text: string, to = 'bob') {
  return sendMessage(account, agent(account), { to, text })
}

/** The account, with something that happens between its reads and its first write. */
function before(account: AccountStore, happens: () => Promise<void>): AccountStore {
  let isFirst = true
  return {
    ...account,
    async record(entry, statements) {
      if (isFirst) await happens()
      isFirst = false
      return await account.record(entry, statements)
    },
  }
}

async function logged(): Promise<string[]> {
  const found = await rows(grid, 'SELECT tool, outcome FROM activity WHERE account_id = ? ORDER BY n', [grid.acme.id])
  return found.filter(({ tool }) => tool === 'send_message').map(({ tool, outcome }) => `${tool} ${outcome}`)
}
