/** Reading again misses no message that is leased or released at the same time. */
import { beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { type Batch, leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { readAgain } from '../../../src/grid/messaging/read-again.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { connect } from '../../../src/store/driver/remote-client.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let bob: AccountStore
/** Functions to call after the next inbox queries, one for each query. */
let afterQuery: (() => Promise<unknown>)[]
beforeEach(async () => {
  afterQuery = []
  grid = await testGrid({
    connect(config) {
      const client = connect(config)
      const execute = client.execute.bind(client) as (statement: unknown) => ReturnType<typeof client.execute>
      client.execute = async (statement: unknown) => {
        const result = await execute(statement)
        const { sql } = statement as { sql?: string }
        if (sql?.includes('deliveries.created_at >= ?')) await afterQuery.shift()?.()
        return result
      }
      return client
    },
  })
  bob = await createAuthenticator(grid.store)(`Bearer ${grid.bob.key}`)
  const alice = await createAuthenticator(grid.store)(`Bearer ${grid.alice.key}`)
  for (const text of ['one', 'two', 'three']) await sendMessage(alice, { to: 'bob', text })
})

test.each(['1h', 'cursor'])('reading since %s shows a message that is released during the query', async (since) => {
  const first = await readMessages(bob, { limit: 1 })
  const { lease } = await readMessages(bob, { limit: 1 })
  afterQuery = [() => leaseOf(bob, lease!.id).release()]

  expect(await look(since, first)).toEqual(since === '1h' ? ['one', 'two', 'three'] : ['two', 'three'])
})

test.each(['1h', 'cursor'])('reading since %s shows a message that is leased during the query', async (since) => {
  const first = await readMessages(bob, { limit: 1 })
  afterQuery = [() => readMessages(bob, { limit: 1 })]

  expect(await look(since, first)).toEqual(since === '1h' ? ['one', 'two', 'three'] : ['two', 'three'])
})

async function look(since: string, { cursor }: Batch): Promise<string[]> {
  const { messages } = await readAgain(bob, { since: since === 'cursor' ? cursor : since })
  expect(afterQuery).toEqual([])
  return messages.map(({ message }) => message)
}
