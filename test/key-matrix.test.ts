/**
 * Every change that affects a key's lookup, combined with every use of a key. See docs/security.md, "Keys and tokens".
 * Right after a change, the response must match the database, even if a lookup was in progress at the commit.
 */
import { expect, test } from 'vitest'
import type { Statement } from '../src/store/sql.ts'
import { connect } from '../src/store/driver/remote-client.ts'
import type { StoreOptions } from '../src/store/store.ts'
import { followLog } from '../src/worker/followers.ts'
import { postA2a, send03 } from './support/a2a.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { cells, type KeyCase, keyUses } from './support/key-changes.ts'
import { callTool } from './support/mcp.ts'
import { hold } from './support/write-queue.ts'

let grid: TestGrid

test.each(cells)('after %s, %s matches the database', async (_, name, prepare) => {
  let looked = 0
  grid = await testGrid(watched(() => void looked++))
  const prepared = await prepare(grid)
  const use = () => keyUses[name](grid, prepared.key)
  expect(await use()).not.toBe('refused')
  looked = 0
  await use()
  expect(looked, 'look-ups that memory does not answer').toBe(prepared.hasGrant ? 1 : 0)

  await prepared.change()
  const after = await use()

  expectAfter(prepared, after)
  expect(after).toBe(await withoutMemory(use))
})

test.each(cells)(
  'if %s during %s, the next response matches the database',
  async (_, name, prepare) => {
    const held = hold()
    let isHolding = false
    let begun = () => {}
    const hasBegun = new Promise<void>((resolve) => begun = resolve)
    grid = await testGrid(watched(async () => {
      if (!isHolding) return
      isHolding = false
      begun()
      await held.opened
    }))
    const prepared = await prepare(grid)
    const use = () => keyUses[name](grid, prepared.key)
    expect(await use()).not.toBe('refused')
    await forgetAll()

    isHolding = true
    const underWay = use()
    await hasBegun
    await prepared.change()
    held.open()
    await underWay
    const after = await use()

    expectAfter(prepared, after)
    expect(after).toBe(await withoutMemory(use))
  },
)

test('sending and reading messages, over any interface, does not clear the cache', async () => {
  const written: Statement[] = []
  grid = await testGrid(watched(() => {}, (statements) => written.push(...statements)))
  const { alice, bob } = grid
  await grid.evil.agent('desk', { visibility: 'public' })
  await callTool(grid, grid.acme.adminKey, 'admin_create_channel', { name: 'all', members: ['alice', 'bob'] })
  written.length = 0

  for (const to of ['@bob', '#all', '@desk']) {
    await callTool(grid, alice.key, 'send_message', { to, message: 'hi', idempotency_key: to })
  }
  await postA2a(grid, alice.key, send03({ metadata: { to: '@bob' } }))
  const { text: [{ message_id }] } = await callTool(grid, bob.key, 'read_messages', {}) as {
    text: { message_id: string }[]
  }
  await callTool(grid, bob.key, 'send_message', { to: '@alice', message: 'yes', reply_to_message_id: message_id })
  await callTool(grid, alice.key, 'read_messages', {})
  await followLog(grid.store)
  await grid.store.drained()

  expect(written.length).toBeGreaterThan(20)
  expect(written.filter(({ isTraffic }) => !isTraffic).map(({ sql }) => sql)).toEqual([])
})

function expectAfter({ stays }: KeyCase, after: string): void {
  if (stays) expect(after).not.toBe('refused')
  else expect(after).toBe('refused')
}

/** Calls `onFound` before a lookup gets its result, and `onWrite` before each commit. */
function watched(
  onFound: () => Promise<void> | void,
  onWrite: (statements: Statement[]) => void = () => {},
): StoreOptions {
  return {
    connect(settings) {
      const client = connect(settings)
      const execute = client.execute.bind(client) as (statement: { sql: string }) => ReturnType<typeof client.execute>
      client.execute = (async (statement: { sql: string }) => {
        const result = await execute(statement)
        if (/^SELECT credentials\..* WHERE credentials\.hash = \?/.test(statement.sql) && result.rows.length > 0) {
          await onFound()
        }
        return result
      }) as typeof client.execute
      const batch = client.batch.bind(client)
      client.batch = (statements, mode) => {
        onWrite(statements as Statement[])
        return batch(statements, mode)
      }
      return client
    },
  }
}

/** Clears the cache first, so that the response comes from the database. */
async function withoutMemory(use: () => Promise<string>): Promise<string> {
  await forgetAll()
  return await use()
}

/** Clears the cache with a statement that is not message traffic. */
function forgetAll(): Promise<unknown> {
  return grid.store.write([{ sql: 'VALUES (1)', args: [] }])
}
