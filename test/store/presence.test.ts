/** Who is at an agent, over several processes. See docs/delivery.md, "Presence". */
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { day } from '../../src/lib/time.ts'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { sweep } from '../../src/worker/retention.ts'
import { rows } from '../support/database.ts'
import { exchangeMessages } from '../support/echoes.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { startSqld } from '../support/sqld.ts'

let grid: TestGrid
let other: TestGrid
beforeEach(async () => {
  const server = await startSqld({ isRelaxed: true })
  onTestFinished(() => server.stop())
  grid = await testGrid({ url: server.url })
  other = await testGrid({ url: server.url, cast: grid })
})
afterEach(async () => {
  await other.close()
  await grid.close()
})

test('two processes know who is at an agent, and store only what has changed', async () => {
  const leaveSession = here(grid).enter(grid.bob.id, { state: 'attended', client: 'claude' })
  here(grid).enter(grid.alice.id, { state: 'waiting' })()
  expect(at(other)).toBeUndefined()
  await exchangeMessages(grid, other)
  expect(at(other)).toEqual({ state: 'attended', client: 'claude' })
  // A wait that has ended before the exchange was never stored.
  expect(await stored()).toMatchObject([{ agent_id: grid.bob.id, holder: grid.store.instanceId }])

  const leaveRunner = here(other).enter(grid.bob.id, { state: 'runner', client: 'codex' })
  await exchangeMessages(other, grid)
  expect([at(grid), at(other)]).toEqual(Array(2).fill({ state: 'attended', client: 'claude' }))
  const [{ changed_at: before }] = await stored()
  leaveSession()
  const leaveAgain = here(grid).enter(grid.bob.id, { state: 'attended', client: 'claude' })
  await exchangeMessages(grid, other)
  expect((await stored()).find(({ holder }) => holder === grid.store.instanceId)?.changed_at).toBe(before)

  leaveAgain()
  await exchangeMessages(grid, other)
  expect([at(grid), at(other)]).toEqual(Array(2).fill({ state: 'runner', client: 'codex' }))
  leaveRunner()
  await exchangeMessages(other, grid)
  expect([at(grid), at(other)]).toEqual([undefined, undefined])
})

test('what a process left stored is read at the start of another, and a process that stops takes it along', async () => {
  here(grid).enter(grid.bob.id, { state: 'attended', client: 'claude' })
  await exchangeMessages(grid)
  const third = await testGrid({ url: grid.deps.config.databaseUrl, cast: grid })
  expect(at(third)).toEqual({ state: 'attended', client: 'claude' })
  await third.close()

  const fourth = await testGrid({ url: grid.deps.config.databaseUrl, cast: grid })
  here(fourth).enter(grid.alice.id, { state: 'waiting' })
  await exchangeMessages(fourth, other)
  expect(here(other).at(grid.alice.id)).toEqual({ state: 'waiting' })
  await fourth.close()
  await other.store.loadPresence()
  expect(here(other).at(grid.alice.id)).toBeUndefined()
})

test('what a killed process stored ends with it, and a process that was taken for dead says so again', async () => {
  const [mine, theirs] = [new LeaseRecovery(grid.store), new LeaseRecovery(other.store)]
  await mine.start()
  await theirs.start()
  here(other).enter(grid.bob.id, { state: 'attended', client: 'claude' })
  await exchangeMessages(other, grid)
  for (let n = 0; n < 4; n++) await mine.heartbeat()
  expect(at(grid)).toEqual({ state: 'attended', client: 'claude' })

  await mine.heartbeat()
  await grid.store.loadPresence()
  expect(at(grid)).toBeUndefined()

  await theirs.heartbeat()
  // The first exchange finds that nobody should be there, and the second one stores who is.
  await exchangeMessages(other)
  await grid.store.loadPresence()
  expect(at(grid)).toEqual({ state: 'attended', client: 'claude' })
})

test('presence goes with its account, and old rows are removed', async () => {
  here(grid).enter(grid.bob.id, { state: 'attended', client: 'claude' })
  here(grid).enter(grid.alice.id, { state: 'waiting' })
  const leaveEve = grid.evil.store.waiting.presence.enter(grid.eve.id, { state: 'waiting' })
  await exchangeMessages(grid, other)
  leaveEve()
  await exchangeMessages(grid, other)
  expect(await rows(grid, 'SELECT agent_id FROM presence WHERE account_id = ?', [grid.evil.id])).toHaveLength(1)

  grid.clock.now = Date.now() + day
  await sweep(grid.store)
  expect(await rows(grid, 'SELECT agent_id FROM presence WHERE account_id = ?', [grid.evil.id])).toEqual([])
  expect(await stored()).toHaveLength(2)
})

test('a process alone stores nothing', async () => {
  const alone = await testGrid()
  onTestFinished(() => alone.close())
  here(alone).enter(alone.bob.id, { state: 'attended', client: 'claude' })
  await alone.store.exchangeUsage()
  expect(here(alone).at(alone.bob.id)).toEqual({ state: 'attended', client: 'claude' })
  expect(await rows(alone, 'SELECT * FROM presence WHERE account_id = ?', [alone.acme.id])).toEqual([])
})

function here(process: TestGrid) {
  return process.acme.store.waiting.presence
}

function at(process: TestGrid) {
  return here(process).at(grid.bob.id)
}

function stored() {
  return rows(grid, 'SELECT * FROM presence WHERE account_id = ? ORDER BY changed_at', [grid.acme.id])
}
