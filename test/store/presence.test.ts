/** Agents' presence across several processes. See docs/conversations.md, "Presence". */
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { startSqld } from '../support/sqld.ts'

let grid: TestGrid
let other: TestGrid
let mine: LeaseRecovery
let theirs: LeaseRecovery
beforeEach(async () => {
  const server = await startSqld({ isRelaxed: true })
  onTestFinished(() => server.stop())
  grid = await testGrid({ url: server.url })
  other = await testGrid({ url: server.url, cast: grid })
  mine = new LeaseRecovery(grid.store)
  theirs = new LeaseRecovery(other.store)
})

test("two processes know agents' presence after a heartbeat of each", async () => {
  const leaveSession = here(grid).enter(grid.bob.id, { state: 'attended', client: 'claude' })
  const leaveRunner = here(other).enter(grid.bob.id, { state: 'runner', client: 'codex' })
  expect(at(other)).toEqual({ state: 'runner', client: 'codex' })
  await heartbeats()
  expect([at(grid), at(other)]).toEqual(Array(2).fill({ state: 'attended', client: 'claude' }))
  expect(other.evil.store.waiting.presence.at(grid.bob.id)).toBeUndefined()

  leaveSession()
  await heartbeats()
  expect([at(grid), at(other)]).toEqual(Array(2).fill({ state: 'runner', client: 'codex' }))
  leaveRunner()
  await heartbeats()
  expect([at(grid), at(other)]).toEqual([undefined, undefined])
})

test('a starting process gets the presence at other processes, and a stopping process removes its own', async () => {
  here(grid).enter(grid.bob.id, { state: 'waiting' })
  await mine.heartbeat()
  await theirs.start()
  expect(at(other)).toEqual({ state: 'waiting' })

  await mine.stop()
  await theirs.heartbeat()
  expect(at(other)).toBeUndefined()
})

test("a killed process's presence is removed, and a process that was presumed dead reports its presence again", async () => {
  here(other).enter(grid.bob.id, { state: 'attended', client: 'claude' })
  await theirs.heartbeat()
  for (let n = 0; n < 4; n++) await mine.heartbeat()
  expect(at(grid)).toEqual({ state: 'attended', client: 'claude' })

  await mine.heartbeat()
  expect(at(grid)).toBeUndefined()

  await theirs.heartbeat()
  await mine.heartbeat()
  expect(at(grid)).toEqual({ state: 'attended', client: 'claude' })
})

async function heartbeats(): Promise<void> {
  for (const process of [mine, theirs, mine]) await process.heartbeat()
}

function here(process: TestGrid) {
  return process.acme.store.waiting.presence
}

function at(process: TestGrid) {
  return here(process).at(grid.bob.id)
}
