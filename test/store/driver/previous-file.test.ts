/** The copy of the database from before a migration. */
import { createClient } from '@libsql/client'
import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { migrations } from '../../../db/migrations.ts'
import { readConfig } from '../../../src/config.ts'
import { processDeps } from '../../../src/cli/process.ts'
import { openStore, type StoreOptions } from '../../../src/store/store.ts'
import { addStep } from '../../support/later-step.ts'
import { runCommand, type TemporaryDatabase, temporaryDatabase } from '../../support/process.ts'
import { smallDisk } from '../../support/small-disk.ts'

/** The previous schema. */
const schema = migrations.length
const copy = `grid.db.schema-${schema}`
const disk = smallDisk(4)
afterAll(() => disk?.remove())

let database: TemporaryDatabase
let path: string
beforeEach(async () => {
  database = temporaryDatabase()
  path = join(database.folder, 'grid.db')
  await (await open()).close()
  addStep("DELETE FROM store_facts WHERE key = 'epoch'")
})
afterEach(() => database.remove())

test('a start that migrates keeps a copy of the previous file, readable only by its owner, and holds the lock', async () => {
  const before = await facts(path)

  const store = await open()
  const second = await runCommand('bun', ['list-accounts', '--json'], { DATABASE_URL: database.url })

  expect(JSON.parse(second.stdout).error.code).toBe('database_in_use')
  expect(copies()).toEqual([copy])
  expect(statSync(join(database.folder, copy)).mode & 0o777).toBe(0o600)
  expect(await facts(join(database.folder, copy))).toEqual(before)
  await store.close()
})

test('a start without a migration or with a new file makes no copy', async () => {
  await (await open()).close()
  rmSync(join(database.folder, copy))
  await (await open()).close()
  database.url = `file:${join(database.folder, 'new.db')}`
  await (await open()).close()

  expect(copies()).toEqual([])
})

test('without space for the copy and the reserve a start does not migrate, unless no copy is wanted', async () => {
  const readSpace = () => Promise.resolve({ free: 1_000_000, total: 1_000_000_000 })

  await expect(open({}, { readSpace })).rejects.toMatchObject({
    code: 'disk_full',
    message: expect.stringContaining('"agent-grid migrate --no-backup" makes none.'),
  })
  expect((await facts(path))[0].user_version).toBe(schema)
  const store = await open({}, { withoutBackup: true })

  expect([store.schemaVersion, copies()]).toEqual([schema + 1, []])
  await store.close()
})

// This test is skipped where mounting is not allowed. On CI it fails instead.
test.skipIf(!disk && !process.env.CI)(
  'a start whose disk has no space for the copy is refused, and migrates nothing',
  async () => {
    const small = join(disk!.folder, 'grid.db')
    for (const end of ['', '.keys']) cpSync(path + end, small + end)
    disk!.fill(400_000)

    // Without a low-water mark, only the write itself fails.
    await expect(open({ DATABASE_URL: `file:${small}`, MIN_FREE_MB: '0' })).rejects.toMatchObject({
      code: 'disk_full',
      message: expect.stringMatching(/^The database .+ has to be migrated, and a copy .+ no space .+ Free some space/),
    })

    // The schema version in the SQLite file's header is unchanged.
    expect(readFileSync(small).readUInt32BE(60)).toBe(schema)
    expect(readdirSync(disk!.folder).filter((name) => name.includes('schema'))).toEqual([])
  },
)

async function open(env: Record<string, string> = {}, options: StoreOptions = {}) {
  return await openStore(processDeps(readConfig({ DATABASE_URL: database.url, LOG_LEVEL: 'error', ...env })), options)
}

function copies(): string[] {
  return readdirSync(database.folder).filter((name) => name.includes('schema')).sort()
}

async function facts(file: string) {
  const client = createClient({ url: `file:${file}`, concurrency: 1 })
  const { rows } = await client.execute('SELECT key, value, user_version FROM store_facts, pragma_user_version')
  client.close()
  return rows.map((row) => ({ ...row }))
}
