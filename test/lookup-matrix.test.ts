/**
 * Every change that a look-up in memory depends on, with every way in which the look-up is used: right after the change
 * the answer is that of the database. Also if the look-up was under way while the change was committed. See
 * docs/security.md, "Look-ups in memory".
 */
import { afterEach, expect, test } from 'vitest'
import { connect } from '../src/store/driver/local-client.ts'
import type { StoreOptions } from '../src/store/store.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { cells, keyUses, type LookupCase, sendUses } from './support/lookup-changes.ts'
import { preparedStatements } from './support/statements.ts'
import { hold } from './support/write-queue.ts'

/** The queries whose rows are kept. */
const queries = new Set(preparedStatements().lookups.affectedBy('not understood').map(({ sql }) => sql))

let grid: TestGrid
afterEach(() => grid.close())

type Use = (grid: TestGrid, key: string, to: string) => Promise<string>
const uses: Record<string, Use> = { ...keyUses, ...sendUses }

test.each(cells)('%s: %s is answered as by the database', async (change, name, prepare) => {
  let looked = 0
  grid = await gridOf(() => void looked++)
  const prepared = await prepare(grid)
  const use = () => uses[name](grid, prepared.key, prepared.to!)
  expect(await use()).not.toBe('refused')
  looked = 0
  await use()
  // From memory, except with a key that has a grant, and after a task was made: the look-up of a recipient has it.
  if (!change.includes('fetched') && name !== 'an A2A send') expect(looked).toBe(0)

  await prepared.change()
  const after = await use()

  expectAfter(name, prepared, after)
  expect(after).toBe(await withoutMemory(use))
})

test.each(cells)(
  '%s while %s is looking up: the next one is answered as by the database',
  async (_, name, prepare) => {
    const held = hold()
    let isHolding = false
    let begun = () => {}
    const hasBegun = new Promise<void>((resolve) => begun = resolve)
    grid = await gridOf(async (sql) => {
      // A use of a recipient is held when it has found the recipient, the others when they have found the key.
      if (!isHolding || sql.includes('from "credentials"') === name in sendUses) return
      isHolding = false
      begun()
      await held.opened
    })
    const prepared = await prepare(grid)
    const use = () => uses[name](grid, prepared.key, prepared.to!)
    expect(await use()).not.toBe('refused')
    await forgetAll()

    isHolding = true
    const underWay = use()
    await hasBegun
    await prepared.change()
    held.open()
    await underWay
    const after = await use()

    expectAfter(name, prepared, after)
    expect(after).toBe(await withoutMemory(use))
  },
)

function expectAfter(name: string, { reaches }: LookupCase, after: string): void {
  if (!reaches) expect(after).toBe('refused')
  else if (name in sendUses) expect(after).toBe(reaches())
  else expect(after).not.toBe('refused')
}

/** A grid that calls `onFound` before a look-up hears what the database found. */
async function gridOf(onFound: (sql: string) => Promise<void> | void): Promise<TestGrid> {
  const options: StoreOptions = {
    connect(settings) {
      const client = connect(settings)
      const execute = client.execute.bind(client) as (statement: { sql: string }) => ReturnType<typeof client.execute>
      client.execute = (async (statement: { sql: string }) => {
        const result = await execute(statement)
        if (queries.has(statement.sql) && result.rows.length > 0) await onFound(statement.sql)
        return result
      }) as typeof client.execute
      return client
    },
  }
  return await testGrid(options)
}

/** The answer of the database: everything that is in memory is dropped first. */
async function withoutMemory(use: () => Promise<string>): Promise<string> {
  await forgetAll()
  return await use()
}

/** A statement that is not understood drops everything. */
function forgetAll(): Promise<unknown> {
  return grid.store.write([{ sql: 'VALUES (1)', args: [] }])
}
