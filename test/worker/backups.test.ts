/** Scheduled backups. */
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import { backUpIfDue } from '../../src/worker/backups.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { signedInWithRole } from '../support/roles.ts'
import { waitFor } from '../support/wait-for.ts'

let folder: string
let grid: TestGrid
const names = () => readdirSync(join(folder, 'backups')).sort()

async function open(env: Record<string, string> = {}) {
  grid = await testGrid({
    env: {
      BACKUP_DIR: join(folder, 'backups'),
      BACKUP_EVERY: '24h',
      BACKUP_KEEP: '2',
      // Saves the time of deriving a key from a passphrase.
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

test('a scheduled backup is made when it is due, and the newest ones are kept', async () => {
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

test('a failed backup is reported in the log, in /readyz, on Home and in Attention, and tried again within the hour', async () => {
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
  for (const page of ['home', 'attention']) {
    expect((await owner.open(`/accounts/${grid.acme.id}/${page}`)).text).toContain('The last backup failed')
  }

  rmSync(join(folder, 'backups'))
  await backUpIfDue(grid.store)
  expect(grid.store.backups.failed).toBeDefined()
  grid.clock.now += hour
  await backUpIfDue(grid.store)

  expect(names()).toHaveLength(1)
  expect((await (await grid.request('/readyz')).json()).backup).toEqual({
    madeAt: new Date(grid.clock.now).toISOString(),
  })
  expect((await owner.open(`/accounts/${grid.acme.id}/home`)).text).not.toContain('The last backup failed')
})

test("two processes on one database make one backup, in one process's folder", async () => {
  await open()
  await Promise.all([backUpIfDue(grid.store), backUpIfDue(grid.store)])

  expect(names()).toHaveLength(1)
})

test('a backup during which the server ended is reported as failed, and the next one is made an hour later', async () => {
  await open()
  await new Promise<void>((begun) => {
    const copyTo = () => new Promise<void>(() => begun())
    void backUpIfDue(Object.assign({}, grid.store, { copyTo }))
  })

  await backUpIfDue(grid.store)
  await backUpIfDue(grid.store)
  const lines = grid.logs.filter((line) => line.includes('The server ended during the backup.'))
  expect(lines).toEqual([expect.stringContaining('The last scheduled backup failed')])
  const failedAt = new Date(grid.clock.now).toISOString()
  expect((await (await grid.request('/readyz')).json()).backup).toEqual({ madeAt: null, failedAt })
  const left = join(folder, 'backups', 'grid-20200101T000000Z.backup.0123abcd.part')
  writeFileSync(left, '')
  utimesSync(left, 0, grid.clock.now / 1_000)
  expect(names()).toHaveLength(1)

  grid.clock.now += hour
  await backUpIfDue(grid.store)
  expect(names()).toEqual([expect.stringMatching(/^grid-.*Z\.backup$/)])
  expect(grid.store.backups.failed).toBeUndefined()
})

test('no backup counts as failed while another process makes one', async () => {
  await open()
  const { backups, instances } = grid.store.global
  const at = grid.clock.now
  await grid.store.write([backups.noteFailed({ at, reason: 'It ended.', process: 'p2' })])
  await grid.store.write(instances.heartbeat('p2', 1, '{}', [], at))
  const remote = Object.assign({}, grid.store, { durability: 'remote' as const })
  await grid.store.write([backups.claim(at, hour)])

  await backUpIfDue(remote)
  expect(remote.backups.failed).toBeUndefined()
  await grid.store.write([instances.remove('p2')])
  await backUpIfDue(remote)
  expect(remote.backups.failed).toMatchObject({ reason: 'It ended.' })
  expect(existsSync(join(folder, 'backups'))).toBe(false)
})

test('when the backup folder is replaced, the next check makes a backup', async () => {
  await open()
  await backUpIfDue(grid.store)
  rmSync(join(folder, 'backups'), { recursive: true })

  grid.clock.now += 2 * hour
  await backUpIfDue(grid.store)

  expect(names()).toHaveLength(1)
})

test('a wrong clock neither prevents nor removes a backup', async () => {
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

test('a start immediately reports that the backup folder is not writable, even if no backup is due', async () => {
  await open()
  await backUpIfDue(grid.store)
  const backups = join(folder, 'backups')
  renameSync(backups, `${backups}-of-today`)
  writeFileSync(backups, '')
  grid.clock.now += hour / 2

  await startAndStop()

  const reason = `The folder ${backups} is not writable (EEXIST). It is a file, or in one.`
  expect(grid.store.backups.failed).toMatchObject({ reason })
  expect(grid.logs.join('\n')).toContain(`A scheduled backup failed","reason":"${reason}`)

  rmSync(backups)
  renameSync(`${backups}-of-today`, backups)
  await startAndStop()
  expect(names()).toHaveLength(2)
  expect(grid.store.backups.failed).toBeUndefined()
})

/** Runs a server until its first check of the backups. */
async function startAndStop(): Promise<void> {
  const before = grid.store.backups
  const worker = await startWorker(grid.store)
  await waitFor('a look at the backups', () => grid.store.backups !== before)
  await worker.stop()
}
