/** What a read costs the database. See docs/delivery.md, "Leases". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { connect } from '../../../src/store/driver/remote-client.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let [queries, units] = [0, 0]
beforeEach(async () => {
  grid = await testGrid({
    connect(config) {
      const client = connect(config)
      const execute = client.execute.bind(client) as (...statement: unknown[]) => ReturnType<typeof client.execute>
      client.execute = ((...statement: unknown[]) => {
        queries++
        return execute(...statement)
      }) as typeof client.execute
      return client
    },
  })
})
afterEach(() => grid.close())

test('a read after a delivery is one unit without a query, and so is each one while messages remain', async () => {
  for (const text of ['one', 'two', 'three']) await send(text)
  const reads = await counted(async () => [
    await readMessages(bob(), { limit: 1 }),
    await readMessages(bob(), { limit: 1 }),
    await readMessages(bob(), {}),
  ])

  expect(reads.result.map(({ messages, remaining }) => [messages.map(({ message }) => message), remaining])).toEqual([
    [['one'], 2],
    [['two'], 1],
    [['three'], 0],
  ])
  expect([reads.queries, reads.units]).toEqual([0, 3])
})

test('an empty inbox is looked at and nothing is written, also after a needless notification', async () => {
  const first = await counted(() => readMessages(bob(), {}))
  bob().waiting.notifier.notify([grid.bob.id])
  const needless = await readMessages(bob(), {})
  const next = await counted(() => readMessages(bob(), {}))

  expect([first.result, needless, next.result].map(({ messages }) => messages)).toEqual([[], [], []])
  expect(needless).not.toHaveProperty('lease')
  expect([first.units, next.units]).toEqual([0, 0])
})

test('parallel reads do not get in the way of each other: each takes a message at its first try', async () => {
  for (let n = 0; n < 32; n++) await send(`${n}`)
  const { result, units } = await counted(() =>
    Promise.all(Array.from({ length: 32 }, () => readMessages(bob(), { limit: 1 })))
  )

  expect(result.map(({ messages }) => messages[0].message)).toEqual(Array.from({ length: 32 }, (_, n) => `${n}`))
  expect(units).toBe(32)
})

async function counted<T>(work: () => Promise<T>) {
  const before = [queries, units]
  const result = await work()
  return { result, queries: queries - before[0], units: units - before[1] }
}

function bob() {
  const { id, alias } = grid.bob
  const account = grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
  const write: typeof account.write = (statements) => {
    units++
    return account.write(statements)
  }
  return { ...account, write }
}

async function send(text: string) {
  const { id, alias } = grid.alice
  await sendMessage(grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' }), {
    to: 'bob',
    text,
  })
}
