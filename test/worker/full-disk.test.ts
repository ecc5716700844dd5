/** The worker's tasks when the disk becomes full. */
import { test, vi } from 'vitest'
import { day } from '../../src/lib/time.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { rows } from '../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { waitFor } from '../support/wait-for.ts'

const mb = 2 ** 20
let grid: TestGrid
let free: number

async function open(): Promise<void> {
  free = 1_000
  grid = await testGrid({
    readSpace: () => Promise.resolve({ free: free * mb, total: 10_000 * mb }),
  })
}

test("a worker's task that fails when the disk becomes full is logged, and the worker still stops in order", async () => {
  await open()
  const worker = await startWorker(grid.store)
  vi.spyOn(grid.store.global.clock, 'storedAt').mockRejectedValueOnce(new Error('the database does not answer'))
  free = 100

  await waitFor('the failure', () => grid.logs.some((line) => line.includes('A worker task failed')))

  await worker.stop()
})

test('a start on an almost full disk immediately removes old messages', async () => {
  await open()
  const { id, store } = grid.acme
  const account = storeOf(grid, grid.alice)
  await sendMessage(account, { to: 'bob', text: 'old' })
  grid.clock.now += (store.deps.config.retentionDays + 1) * day
  free = 100

  const worker = await startWorker(grid.store)

  await waitFor(
    'the removal',
    async () => (await rows(grid, 'SELECT 1 FROM messages WHERE account_id = ?', [id])).length === 0,
  )
  await worker.stop()
})
