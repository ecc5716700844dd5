import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { faultOf, killAtSteps, type KillStep } from '../support/killed-runners.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let grid: LiveGrid
let folder: string

beforeEach(async () => {
  grid = await liveGrid()
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-killed-'))
})

afterEach(async () => {
  await grid.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The critical steps. `npm run lab -- runners` covers all steps many times. */
const steps: KillStep[] = [
  'runner: lease answered',
  'runner: child begun',
  'runner: send asked',
  'runner: send answered',
  'runner: left leases answered',
  'child: begun',
]

test('each message is answered once, even if the runner or its child is killed at any critical step', async () => {
  const lane = { url: grid.url, asker: grid.alice, worker: grid.bob, folder }
  // Release expired leases by the grid's clock, as a server's worker does.
  const recovery = new LeaseRecovery(grid.store)
  const clock = setInterval(() => {
    grid.clock.now += 1_000
    void recovery.releaseExpired()
  }, 50)
  try {
    const runs = await killAtSteps(lane, steps)

    expect(runs.map(faultOf).filter((fault) => fault !== undefined)).toEqual([])
  } finally {
    clearInterval(clock)
  }
})
