/** `agent-grid doctor` finds faults and names the remedy. See docs/operating/monitoring.md, "Doctor". */
import { createClient } from '@libsql/client'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { examine } from '../../src/cli/doctor.ts'
import { judgeDisk, judgeFsync } from '../../src/cli/doctor/files.ts'
import { readConfig } from '../../src/config.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { day, hour } from '../../src/lib/time.ts'
import { pathInFolder } from '../../src/store/backup/files.ts'
import { addStep, newerSchema } from '../support/later-step.ts'
import { checksOfMachine, runSql, type WellGrid, wellGrid } from '../support/well-grid.ts'

let grid: WellGrid
let path: string
let env: Record<string, string>

beforeEach(async () => {
  grid = await wellGrid()
  ;({ path, env } = grid)
})
afterEach(() => grid.remove())

const sql = (...statements: string[]) => runSql(path, ...statements)

describe('the doctor and a stopped grid', () => {
  test('the doctor finds a stopped grid healthy, and does not change it', async () => {
    const before = readdirSync(grid.folder)

    const report = await examine(env, false)

    expect(report.checks[0].check).toBe('settings')
    // Checks of the machine are ignored, because the tests' folder may be on an unsuitable file system.
    expect(report.checks.filter(({ check, status }) => status !== 'ok' && !checksOfMachine.includes(check))).toEqual([])
    expect(readdirSync(grid.folder)).toEqual([...new Set([...before, 'grid.db.lock'])].sort())
  })

  test.each<[fault: string, check: string, status: string, action: RegExp, plant: () => unknown]>([
    ['an invalid setting', 'settings', 'broken', /help settings/, () => env.PORT = 'eighty'],
    ['a misspelt setting', 'settings', 'warning', /help settings/, () => env.TRUSTED_PROXY = '10.0.0.1'],
    ['a removed setting', 'settings', 'warning', /^Remove LOCK_WAIT/, () => env.LOCK_WAIT = '10'],
    ['no TLS', 'addresses', 'warning', /TLS proxy/, () => env.BASE_URL = 'http://grid.example'],
    ['mixed addresses', 'addresses', 'warning', /https addresses/, () => env.APP_URL = 'https://grid.example'],
    ['a proxy that is not trusted', 'addresses', 'warning', /TRUSTED_PROXIES/, makePublic],
    ['no database', 'database', 'warning', /set DATABASE_URL/, () => env.DATABASE_URL += '.other'],
    ['a damaged page', 'database', 'broken', /restore a backup/, damage],
    ['a row that points nowhere', 'database', 'broken', /restore a backup/, () =>
      sql(
        'PRAGMA foreign_keys = OFF',
        "INSERT INTO trials (account_id, agent_id, max, expires_at) VALUES ('x', 'y', 1, 1)",
      )],
    ['an older schema', 'database', 'warning', /migrate --check/, () => addStep('CREATE TABLE later (id text)')],
    [
      'a newer schema',
      'database',
      'broken',
      /Use a newer agent-grid/,
      () => sql(...newerSchema),
    ],
    [
      'another key ring',
      'key_ring',
      'broken',
      /Restore the key ring/,
      () => writeFileSync(`${path}.keys`, newKeyRing()),
    ],
    ['another key under the id of one', 'key_ring', 'broken', /If it is lost, make one with a new id/, () => {
      const [id] = readFileSync(`${path}.keys`, 'utf8').split(':')
      writeFileSync(`${path}.keys`, newKeyRing().replace(/^[^:]+/, id))
    }],
    ['a missing key ring', 'key_ring', 'broken', /Restore the key ring/, () => rmSync(`${path}.keys`)],
    [
      'a damaged key ring',
      'key_ring',
      'broken',
      /Restore the key ring/,
      () => writeFileSync(`${path}.keys`, 'no ring'),
    ],
    ['a key ring that others read', 'files', 'warning', /chmod 600 .+keys/, () => chmodSync(`${path}.keys`, 0o644)],
    ['a folder that others write', 'files', 'warning', /chmod 700/, () => chmodSync(grid.folder, 0o777)],
    ['a clock far ahead', 'clock', 'broken', /--repair confirm-clock/, () => storedClock(-40 * day)],
    ['a clock behind', 'clock', 'warning', /NTP/, () => storedClock(hour)],
    [
      'a message that errors left out',
      'conversations',
      'warning',
      /--repair rebuild-conversations/,
      () => sql(`INSERT INTO skipped_rows SELECT account_id, 'search', seq, 'an error', 1 FROM messages`),
    ],
    ['relaxed durability', 'durability', 'warning', /DURABILITY=full/, () => env.DURABILITY = 'relaxed'],
    ['an email server that is away', 'email', 'broken', /SMTP_URL/, async () => {
      const port = await freePort('127.0.0.1')
      Object.assign(env, { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'grid@acme.example' })
    }],
    ['no email server of a public grid', 'email', 'warning', /Set SMTP_URL/, makePublic],
    ['an old backup', 'backups', 'warning', /failed backups/, () => backup(3 * day)],
    [
      'a file in the place of the folder of backups',
      'backups',
      'broken',
      /to a folder/,
      () => Object.assign(env, { BACKUP_DIR: path, BACKUP_PLAIN: '1' }),
    ],
    [
      'a folder without backups',
      'backups',
      'warning',
      /folder is right/,
      () => Object.assign(env, { BACKUP_DIR: join(grid.folder, 'none'), BACKUP_PLAIN: '1' }),
    ],
    ['no backups of a public grid', 'backups', 'warning', /Set BACKUP_DIR/, makePublic],
  ])('with %s, the check %s is %s', async (_, check, status, action, plant) => {
    await plant()

    const report = await examine(env, false)

    const found = report.checks.filter((found) => found.check === check && found.status === status)
    expect({ check, found, all: report.checks }).toMatchObject({ found: [{ action: expect.stringMatching(action) }] })
    expect(report.status).toBe(report.checks.some((found) => found.status === 'broken') ? 'broken' : 'warning')
  })
})

test.each([
  ['a network file system', { type: 0x6969 }, 'broken', /local disk/],
  ['a disk in memory', { type: 0x01021994 }, 'broken', /local disk/],
  ['the layer of a container', { type: 0x794c7630 }, 'warning', /Mount a volume/],
  ['a full disk', { bavail: 1 }, 'broken', /Free some space/],
  ['an almost full disk', { bavail: 150 }, 'warning', /Free some space/],
])('the doctor says what to do about %s', (_, fault, status, action) => {
  const megabytes = { type: 0xef53, bavail: 50_000, blocks: 100_000, bsize: 2 ** 20, ...fault }

  const [found, ...more] = judgeDisk('/data', megabytes, readConfig({ MIN_FREE_MB: '100' }))

  expect(found).toMatchObject({ check: 'disk', status, action: expect.stringMatching(action) })
  expect(more).toEqual([])
})

test('the doctor distinguishes a disk that ignores fsync, a slow disk and a good one', () => {
  expect(judgeFsync(0.002)).toMatchObject({ status: 'warning', action: expect.stringContaining('eatmydata') })
  expect(judgeFsync(80)).toMatchObject({ status: 'warning', action: expect.stringContaining('faster disk') })
  expect(judgeFsync(2)).toMatchObject({ status: 'ok' })
})

/** Gives the grid a public address behind a proxy. */
function makePublic(): void {
  env.BASE_URL = 'https://grid.example'
}

/** Damages the first page of a table that the doctor's queries do not use. */
async function damage(): Promise<void> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 })
  const { rows: [{ rootpage, size }] } = await client.execute(
    "SELECT rootpage, (SELECT page_size FROM pragma_page_size) AS size FROM sqlite_schema WHERE name = 'parts'",
  )
  client.close()
  const file = readFileSync(path)
  file.fill(0xff, (Number(rootpage) - 1) * Number(size), Number(rootpage) * Number(size))
  writeFileSync(path, file)
}

async function storedClock(fromNow: number): Promise<void> {
  await sql(`UPDATE store_facts SET value = ${Date.now() + fromNow} WHERE key = 'clock'`)
}

async function backup(age: number): Promise<void> {
  Object.assign(env, { BACKUP_DIR: join(grid.folder, 'backups'), BACKUP_PLAIN: '1' })
  writeFileSync(await pathInFolder(env.BACKUP_DIR, Date.now() - age), 'a backup')
}
