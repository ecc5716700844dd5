/** The activity log. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { activityRow, recordActivity } from '../../src/grid/activity.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

describe('the log', () => {
  let grid: TestGrid
  beforeEach(async () => {
    grid = await testGrid()
    for (let n = 1; n <= 4; n++) await call(grid.acme.store, `tool-${n}`)
    await call(grid.evil.store, 'tool-1')
  })

  test('counts its rows separately in each account', async () => {
    expect((await grid.acme.store.read.activity.list()).map(({ n }) => n)).toEqual([4, 3, 2, 1])
    expect((await grid.evil.store.read.activity.list()).map(({ n }) => n)).toEqual([1])
  })

  test.each([
    ["UPDATE activity SET outcome = 'x' WHERE account_id = ?"],
    ['DELETE FROM activity WHERE account_id = ?'],
    [replacement('id', '9')],
    [replacement("'other'", 'n')],
  ])('is append-only: %s is refused', async (sql) => {
    const before = await grid.acme.store.read.activity.list()

    await expect(rows(grid, sql, [grid.acme.id])).rejects.toMatchObject({ code: 'write_conflict' })

    expect(await grid.acme.store.read.activity.list()).toEqual(before)
  })

  test('a unit that is repeated, because its answer was lost, adds no second row', async () => {
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

describe('the list', () => {
  let grid: TestGrid
  let acme: AccountStore
  beforeAll(async () => {
    grid = await testGrid()
    acme = grid.acme.store
    const as = (credentialId: string, userId: string | null) =>
      grid.store.account(grid.acme.id, { type: 'admin', credentialId, credentialKind: 'admin_key', userId })
    for (let n = 1; n <= 250; n++) {
      grid.clock.now += 1_000
      const caller = n % 2 === 0 ? as('key-1', 'ann') : as('key-2', null)
      await call(caller, n % 5 === 0 ? 'fives' : 'others', n % 10 === 0).catch(() => {})
    }
    await call(grid.evil.store, 'fives')
  })

  test.each([
    ['tool', { tool: 'fives' }, 50],
    ['outcome', { outcome: 'internal' }, 25],
    ['failure', { isRefused: true }, 25],
    ['a failure with the outcome ok', { isRefused: true, outcome: 'ok' }, 0],
    ['credential', { credentialId: 'key-2' }, 125],
    ['user', { userId: 'ann' }, 125],
    ['several at once', { tool: 'fives', outcome: 'ok', userId: 'ann' }, 0],
    ['a page of a filter', { tool: 'fives', before: 101, limit: 30 }, 20],
    ['a tool that does not exist', { tool: "fives' OR 1 = 1 --" }, 0],
  ])('is filtered by %s', async (_, filter, found) => {
    expect(await acme.read.activity.list(filter)).toHaveLength(found)
  })

  test('is filtered by time, the given moment included', async () => {
    const [newest, second] = await acme.read.activity.list({ limit: 2 })

    expect(await acme.read.activity.list({ since: second.createdAt })).toEqual([newest, second])
    expect(await acme.read.activity.list({ since: second.createdAt + 1 })).toEqual([newest])
    expect((await acme.read.activity.list({ until: newest.createdAt }))[0]).toEqual(second)
    expect((await acme.read.activity.list({ until: newest.createdAt + 1 }))[0]).toEqual(newest)
  })

  test('has nothing of another account, whatever the filter', async () => {
    const evil = grid.evil.store.read.activity

    expect(await evil.list()).toHaveLength(1)
    expect(await evil.list({ tool: 'others' })).toEqual([])
    expect(await evil.list({ credentialId: 'key-1' })).toEqual([])
    expect(await evil.list({ userId: 'ann' })).toEqual([])
    expect(await evil.has((await acme.read.activity.list())[0].id)).toBe(false)
  })
})

/** A recorded call that changes nothing, and fails if `fails`. */
function call(account: AccountStore, tool: string, fails = false): Promise<unknown> {
  const run = () => fails ? Promise.reject(new Error('a fault')) : Promise.resolve()
  return recordActivity(account, { tool, arguments: { of: tool }, requestId: 'r' }, run)
}
