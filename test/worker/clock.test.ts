/** Clocks that jump (docs/delivery.md, "Clocks"). */
import { beforeEach, expect, test } from 'vitest'
import { confirmClock } from '../../src/cli/doctor/repairs.ts'
import { serverCommands } from '../../src/cli/store-commands.ts'
import { day, hour } from '../../src/lib/time.ts'
import { keepClock } from '../../src/worker/clock.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { rows, updateTrial } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid
let start: number

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open({ readSpace: () => Promise.resolve({ free: 2 ** 40, total: 2 ** 40 }) })
    start = grid.clock.now
  })

  test('a clock up to 30 days ahead of the stored time is trusted, and a clock further ahead must be confirmed before anything is removed', async () => {
    expect(await keepClock(grid.store)).toBe(true)
    grid.clock.now = start + 30 * day
    expect(await keepClock(grid.store)).toBe(true)
    grid.clock.now += 30 * day + 1
    expect(await keepClock(grid.store)).toBe(false)
    expect(await keepClock(grid.store)).toBe(false)
    expect(said('confirm-clock')).toMatchObject({ level: 'error', stored: '2026-12-21T09:00:00.000Z' })

    expect(serverCommands).toContain(confirmClock)
    expect(await confirmClock.run(grid.store, {})).toEqual({
      clock: '2027-01-20T09:00:00.001Z',
      stored_before: '2026-12-21T09:00:00.000Z',
    })
    expect(await keepClock(grid.store)).toBe(true)
  })

  test('the stored time never goes back, so a corrected clock needs no confirmation', async () => {
    await keepClock(grid.store)
    grid.clock.now = Date.parse('1970-01-02')
    expect(await keepClock(grid.store)).toBe(true)
    expect(said('behind')).toMatchObject({ level: 'warn' })
    grid.clock.now = start + day
    expect(await keepClock(grid.store)).toBe(true)
    expect(await grid.store.global.clock.storedAt()).toBe(start + day)
  })

  test('an ended trial stays ended when the clock goes back, whether or not a send was refused since', async () => {
    await keepClock(grid.store)
    await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: start + 2 * hour })
    await updateTrial(grid, grid.bob, { used: 0, max: 10, expiresAt: start + 3 * hour })
    grid.clock.now = start + 2 * hour
    await expect(send(grid.alice, 'bob')).rejects.toMatchObject({ code: 'trial_expired' })
    await grid.store.drained()
    grid.clock.now = start
    await expect(send(grid.alice, 'bob')).rejects.toMatchObject({ code: 'trial_expired' })
    await send(grid.bob, 'alice')

    grid.clock.now = start + 3 * hour
    await keepClock(grid.store)
    grid.clock.now = start
    await expect(send(grid.bob, 'alice')).rejects.toMatchObject({ code: 'trial_expired' })
  })
})

test('a worker whose clock jumps ahead keeps old messages until the clock is confirmed, even on a full disk', async () => {
  const mb = 2 ** 20
  let free = 1_000 * mb
  grid = await testGrid({
    readSpace: () => Promise.resolve({ free, total: 10_000 * mb }),
  })
  const worker = await startWorker(grid.store)
  await send(grid.alice, 'bob')
  grid.clock.now += 3_650 * day

  free = 100 * mb
  await waitFor('the refusal', () => grid.logs.some((line) => line.includes('confirm-clock')))
  expect(await messageCount()).toBe(1)
  await confirmClock.run(grid.store, {})
  free = 1_000 * mb
  await waitFor('space', () => grid.logs.some((line) => line.includes('has space again')))
  free = 100 * mb
  await waitFor('the removal', async () => await messageCount() === 0)

  await worker.stop()
})

function send(from: TestAgent, to: string) {
  const account = storeOf(grid, from)
  return sendMessage(account, { to, text: 'hi' })
}

async function messageCount(): Promise<number> {
  return (await rows(grid, 'SELECT 1 FROM messages WHERE account_id = ?', [grid.acme.id])).length
}

/** Returns the log line that contains this text. */
function said(text: string): unknown {
  const line = grid.logs.find((line) => line.includes(text))
  return line && JSON.parse(line)
}
