/** Looking again while mail changes hands: what is handed out, or given back, at that moment is not left out. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bearer } from '../../../src/auth/bearer.ts'
import { giveBack } from '../../../src/grid/messaging/leases.ts'
import { type Batch, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { readAgain } from '../../../src/grid/messaging/read-again.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { connect } from '../../../src/store/driver/local-client.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

let grid: TestGrid
let bob: AccountStore
/** What happens behind each query of the mailbox that a look makes. */
let happenings: (() => Promise<unknown>)[]
beforeEach(async () => {
  happenings = []
  grid = await testGrid({
    connect(config) {
      const client = connect(config)
      const execute = client.execute.bind(client) as (statement: unknown) => ReturnType<typeof client.execute>
      client.execute = async (statement: unknown) => {
        const result = await execute(statement)
        const { sql } = statement as { sql?: string }
        if (sql?.includes('"created_at" >= ?')) await happenings.shift()?.()
        return result
      }
      return client
    },
  })
  bob = await bearer(grid.store)(`Bearer ${grid.bob.key}`)
  const alice = await bearer(grid.store)(`Bearer ${grid.alice.key}`)
  for (const text of ['one', 'two', 'three']) await sendMessage(alice, { to: 'bob', text })
})
afterEach(() => grid.close())

test.each(['1h', 'cursor'])('what is given back while since %s looks is shown', async (since) => {
  const first = await readMessages(bob, { limit: 1 })
  const { handOut } = await readMessages(bob, { limit: 1 })
  happenings = [() => giveBack(bob, handOut!)]

  expect(await look(since, first)).toEqual(since === '1h' ? ['one', 'two', 'three'] : ['two', 'three'])
})

test.each(['1h', 'cursor'])('what is handed out while since %s looks is shown', async (since) => {
  const first = await readMessages(bob, { limit: 1 })
  happenings = [() => readMessages(bob, { limit: 1 })]

  expect(await look(since, first)).toEqual(since === '1h' ? ['one', 'two', 'three'] : ['two', 'three'])
})

async function look(since: string, { cursor }: Batch): Promise<string[]> {
  const { messages } = await readAgain(bob, { since: since === 'cursor' ? cursor : since })
  expect(happenings).toEqual([])
  return messages.map(({ message }) => message)
}
