/** The heads of the activity logs in the daily log (docs/security.md, "Activity log"), with a test clock. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { recordActivity } from '../../src/grid/activity.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { day, hour } from '../../src/lib/time.ts'
import { logActivityHeads } from '../../src/worker/activity-heads.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { TestAccount, TestGrid } from '../support/grid.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })
  afterEach(() => grid.close())

  test('each account with activity since yesterday gets one line, with the hash of its last row', async () => {
    await act(grid.acme, 'one')
    await act(grid.acme, 'two')
    await act(grid.evil, 'one')
    grid.clock.now += hour
    expect(await heads()).toEqual([await headOf(grid.acme), await headOf(grid.evil)])

    grid.clock.now += hour
    await act(grid.acme, 'three')
    expect(await heads()).toEqual([])
    grid.clock.now += 23 * hour
    expect(await heads()).toEqual([await headOf(grid.acme)])
    grid.clock.now += day
    expect(await heads()).toEqual([])
  })

  test('after an aborted run, the next one logs everything', async () => {
    await act(grid.acme, 'one')
    await logActivityHeads(grid.store, AbortSignal.abort())

    expect(await heads()).toEqual([await headOf(grid.acme)])
  })
})

function act(account: TestAccount, name: string) {
  const call = { tool: 'create_channel', arguments: { name }, requestId: null }
  return recordActivity(account.store, call, (account) => createChannel(account, { name }))
}

/** The heads that are logged now. */
async function heads(): Promise<object[]> {
  const from = grid.logs.length
  await logActivityHeads(grid.store)
  return grid.logs.slice(from).map((line) => JSON.parse(line))
    .filter(({ message, msg }) => (message ?? msg) === 'Head of the activity log')
    .map(({ account, n, hash }) => ({ account, n, hash }))
}

async function headOf({ id, store }: TestAccount) {
  const { n, hash } = (await store.read.activity.head())!
  return { account: id, n, hash }
}
