/**
 * What a grid refuses while its disk is almost full, and what still works (docs/operating/monitoring.md, "Full disk").
 */
import { beforeEach, expect, test } from 'vitest'
import { day } from '../../../src/lib/time.ts'
import { startWorker } from '../../../src/worker/worker.ts'
import { postA2a, send03 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { codeOf, signUp } from '../../support/signup.ts'
import { waitFor } from '../../support/wait-for.ts'

const mb = 2 ** 20
let grid: TestGrid
let free: number
beforeEach(async () => {
  free = 1_000 * mb
  grid = await testGrid({
    env: { RETENTION_DAYS: '7' },
    readSpace: () => Promise.resolve({ free, total: 10_000 * mb }),
  })
})

test('every interface refuses sends with storage_full, and /readyz says why', async () => {
  await almostFull()

  const ready = await grid.request('/readyz')
  const overMcp = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hi' })
  const overA2a = await postA2a(grid, grid.alice.key, send03())
  const signup = await signUp(grid, { owner_email: 'you@example.com', alias: 'new-agent' })

  expect([ready.status, await ready.json()]).toEqual([503, {
    status: 'storage full',
    durability: 'relaxed',
    reason: 'The disk of the database has 100 MB of 10000 MB free. Messages are accepted again at 220 MB.',
  }])
  expect(overMcp.code).toBe('storage_full')
  expect([overA2a.status, overA2a.body.error.code]).toEqual([503, -32053])
  expect([signup.status, signup.headers.get('retry-after'), await codeOf(signup)]).toEqual([503, '10', 'storage_full'])
  expect(await count('messages')).toBe(0)
})

test('old messages are removed as soon as the disk is almost full, and sends are accepted again when there is space', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'old' })
  const worker = await startWorker(grid.store)
  grid.clock.now += 8 * day

  free = 100 * mb
  await waitFor('the removal of old messages', async () => await count('messages') === 0)
  await expect(sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi' })).rejects.toMatchObject({
    code: 'storage_full',
  })
  free = 1_000 * mb
  await waitFor('readiness', async () => (await grid.request('/readyz')).status === 200)
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi' })
  await worker.stop()

  expect(grid.logs.filter((line) => line.includes('disk of the database'))).toHaveLength(2)
})

async function almostFull(): Promise<void> {
  free = 100 * mb
  await grid.store.storage.check()
}

async function count(table: string): Promise<number> {
  return (await rows(grid, `SELECT 1 FROM "${table}" WHERE account_id = ?`, [grid.acme.id])).length
}
