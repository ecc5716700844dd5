/** Scheduled backups. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import { backUpIfDue } from '../../src/worker/backups.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { signedInWithRole } from '../support/roles.ts'

let folder: string
let grid: TestGrid
const names = () => readdirSync(join(folder, 'backups')).sort()

async function open(env: Record<string, string> = {}) {
  grid = await testGrid({
    env: {
      BACKUP_DIR: join(folder, 'backups'),
      BACKUP_EVERY: '24h',
      BACKUP_KEEP: '2',
      // Without the time that a pass phrase takes.
      BACKUP_PLAIN: '1',
      ...env,
    },
  })
}
beforeEach(() => folder = mkdtempSync(join(tmpdir(), 'agent-grid-schedule-')))
afterEach(async () => {
  await grid?.close()
  rmSync(folder, { recursive: true })
})

test('a backup is made when it is due, and the newest ones are kept', async () => {
  await open()
  await backUpIfDue(grid.store)
  const [first] = names()
  await backUpIfDue(grid.store)
  expect(names()).toEqual([first])

  for (let n = 0; n < 3; n++) {
    grid.clock.now += 24 * hour
    await backUpIfDue(grid.store)
  }
  expect(names()).toHaveLength(2)
  expect(names()).not.toContain(first)
  expect(grid.store.backups).toMatchObject({ made: { file: join(folder, 'backups', names()[1]) } })
})

test('a failure is told in the log, in /readyz and on the overview, and tried again within the hour', async () => {
  await open()
  writeFileSync(join(folder, 'backups'), '')
  await backUpIfDue(grid.store)

  expect(grid.logs.join('\n')).toContain('A scheduled backup failed')
  const failedAt = new Date(grid.clock.now).toISOString()
  expect(await (await grid.request('/readyz')).json()).toMatchObject({
    status: 'ready',
    backup: { madeAt: null, failedAt },
  })
  const owner = await signedInWithRole(grid, 'owner')
  const overview = `/accounts/${grid.acme.id}/overview`
  expect((await owner.open(overview)).text).toContain('The last backup failed')

  rmSync(join(folder, 'backups'))
  await backUpIfDue(grid.store)
  expect(grid.store.backups.failed).toBeDefined()
  grid.clock.now += hour
  await backUpIfDue(grid.store)

  expect(names()).toHaveLength(1)
  expect((await (await grid.request('/readyz')).json()).backup).toEqual({
    madeAt: new Date(grid.clock.now).toISOString(),
  })
  expect((await owner.open(overview)).text).not.toContain('The last backup failed')
})

test('two processes on one database make one backup, in the folder of one of them', async () => {
  await open()
  await Promise.all([backUpIfDue(grid.store), backUpIfDue(grid.store)])

  expect(names()).toHaveLength(1)
})

test('a process that was killed during a backup delays the next one by an hour, and what it left is removed', async () => {
  await open()
  await grid.store.write([
    grid.store.global.backups.claim(grid.clock.now, { everyMs: 24 * hour, retryMs: hour }),
  ])
  mkdirSync(join(folder, 'backups'))
  writeFileSync(join(folder, 'backups', 'grid-20200101T000000Z.backup.0123abcd.part'), '')
  await backUpIfDue(grid.store)
  expect(names()).toEqual(['grid-20200101T000000Z.backup.0123abcd.part'])

  grid.clock.now += hour
  await backUpIfDue(grid.store)
  expect(names()).toEqual([expect.stringMatching(/^grid-.*Z\.backup$/)])
})

test('a clock that was wrong stops no backup, and removes none', async () => {
  await open({ BACKUP_KEEP: '1' })
  const right = grid.clock.now
  grid.clock.now = right + 300 * 24 * hour
  writeFileSync(join(folder, 'backups'), '')
  await backUpIfDue(grid.store)
  rmSync(join(folder, 'backups'))
  grid.clock.now += hour
  await backUpIfDue(grid.store)
  const [ahead] = names()

  grid.clock.now = right
  await backUpIfDue(grid.store)
  expect(names()).toEqual([expect.not.stringMatching(ahead), ahead])
  const madeAt = new Date(right).toISOString()
  expect((await (await grid.request('/readyz')).json()).backup).toEqual({ madeAt })
  await backUpIfDue(grid.store)
  expect(names()).toHaveLength(2)
  grid.clock.now += 24 * hour
  await backUpIfDue(grid.store)
  expect(names()).toHaveLength(2)
  expect((await (await grid.request('/readyz')).json()).backup.madeAt).toBe(new Date(grid.clock.now).toISOString())
})
