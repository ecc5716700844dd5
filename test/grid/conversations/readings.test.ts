/** What people read of the messages of others is in the activity log, without a word of it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { recordReading } from '../../../src/grid/conversations/may-read.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { member } from '../../support/seats.ts'

let grid: TestGrid
let owner: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  owner = (await member(grid, { role: 'owner' })).account
})
afterEach(() => grid.close())

const logged = async () => {
  const found = await rows(
    grid,
    "SELECT tool, arguments, credential_id FROM activity WHERE account_id = ? AND tool LIKE 'read_%' ORDER BY n",
    [grid.acme.id],
  )
  return found.map((row) => `${row.credential_id} ${row.tool} ${row.arguments}`)
}
const pair = { thread: 'thread 1', agents: ['alice', 'bob'] }

test('one row for each session, thread and hour', async () => {
  const otherSession = grid.store.account(grid.acme.id, { ...owner.actor, sessionId: 'another' } as typeof owner.actor)

  for (const account of [owner, owner, otherSession]) {
    await recordReading(account, pair, 'request')
    await recordReading(account, { thread: 'thread 2', channel: 'incidents' }, 'request')
    await recordReading(account, { list: 'all' }, 'request')
  }
  const first = ['test', 'another'].flatMap((session) => [
    `${session} read_conversation {"subject":"thread 1","agents":["alice","bob"]}`,
    `${session} read_channel {"subject":"thread 2","channel":"incidents"}`,
    `${session} read_conversations {"subject":"all"}`,
  ])
  expect(await logged()).toEqual(first)

  grid.clock.now += hour - minute
  await recordReading(owner, pair, 'request')
  expect(await logged()).toHaveLength(6)
  grid.clock.now += minute
  await recordReading(owner, pair, 'request')
  expect((await logged()).slice(6)).toEqual([first[0]])
})

test('requests at the same time leave one row', async () => {
  await Promise.all(Array.from({ length: 8 }, () => recordReading(owner, pair, 'request')))

  expect(await logged()).toHaveLength(1)
})
