/** The activity log. */
import { beforeEach, describe, expect, test } from 'vitest'
import { activityRow, recordActivity } from '../../src/grid/activity.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

describe('the activity log', () => {
  let grid: TestGrid
  beforeEach(async () => {
    grid = await testGrid()
    for (let n = 1; n <= 4; n++) await call(grid.acme.store, `tool-${n}`)
    await call(grid.evil.store, 'tool-1')
  })

  test("the log's rows are numbered separately in each account", async () => {
    expect((await grid.acme.store.read.activity.list()).map(({ n }) => n)).toEqual([4, 3, 2, 1])
    expect((await grid.evil.store.read.activity.list()).map(({ n }) => n)).toEqual([1])
  })

  test.each([
    ["UPDATE activity SET outcome = 'x' WHERE account_id = ?"],
    ['DELETE FROM activity WHERE account_id = ?'],
    [replacement('id', '9')],
    [replacement("'other'", 'n')],
  ])('the activity log is append-only, so it refuses %s', async (sql) => {
    const before = await grid.acme.store.read.activity.list()

    await expect(rows(grid, sql, [grid.acme.id])).rejects.toMatchObject({ code: 'write_conflict' })

    expect(await grid.acme.store.read.activity.list()).toEqual(before)
  })

  test('a unit repeated after a lost response adds no second row to the log', async () => {
    const row = activityRow(grid.acme.store.actor, { tool: 't', arguments: {}, requestId: 'r' }, 'ok', 1)
    const fact = { sql: "INSERT INTO store_facts (key, value) VALUES (?, '1')" }

    await grid.acme.store.record(row, [{ ...fact, args: ['first'] }])
    await grid.acme.store.record(row, [{ ...fact, args: ['second'] }])

    expect((await grid.acme.store.read.activity.list()).filter(({ tool }) => tool === 't')).toHaveLength(1)
    expect(await rows(grid, "SELECT key FROM store_facts WHERE key IN ('first', 'second')")).toEqual([{ key: 'first' }])
  })

  function replacement(id: string, n: string): string {
    return `INSERT OR REPLACE INTO activity (account_id, n, id, created_at, actor_type, tool, arguments, outcome)
      SELECT account_id, ${n}, ${id}, created_at, actor_type, tool, arguments, outcome
      FROM activity WHERE account_id = ? AND n = 1`
  }
})

test('the activity list can be filtered by time, with an inclusive start and an exclusive end', async () => {
  const grid = await testGrid()
  const acme = grid.acme.store
  await call(acme, 'first')
  grid.clock.now += 1_000
  await call(acme, 'second')
  const [{ createdAt }] = await acme.read.activity.list()
  const toolsOf = async (filter: object) => (await acme.read.activity.list(filter)).map(({ tool }) => tool)

  expect(await toolsOf({ since: createdAt })).toEqual(['second'])
  expect(await toolsOf({ until: createdAt })).toEqual(['first'])
})

test('the activity list contains no row of another account, whatever the filter', async () => {
  const grid = await testGrid()
  const caller = { type: 'admin', credentialId: 'key-1', credentialKind: 'admin_key', userId: 'ann' } as const
  const acme = grid.store.account(grid.acme.id, caller)
  await call(acme, 'others')
  await call(grid.evil.store, 'fives')
  const evil = grid.evil.store.read.activity

  expect(await evil.list()).toHaveLength(1)
  expect(await evil.list({ tool: 'others' })).toEqual([])
  expect(await evil.list({ credentialId: 'key-1' })).toEqual([])
  expect(await evil.list({ userId: 'ann' })).toEqual([])
  expect(await evil.has((await acme.read.activity.list())[0].id)).toBe(false)
})

/** Makes a logged call that changes nothing. */
function call(account: AccountStore, tool: string): Promise<unknown> {
  return recordActivity(account, { tool, arguments: { of: tool }, requestId: 'r' }, () => Promise.resolve())
}
