/** The copy from before a migration. See docs/operations.md, "The file before an upgrade". */
import { createClient } from '@libsql/client'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrations } from '../../../db/migrations.ts'
import { pastDatabase, rowsOf } from '../../../scripts/past-databases.ts'
import { readConfig } from '../../../src/config.ts'
import { processDeps } from '../../../src/cli/process.ts'
import { openStore, type StoreOptions } from '../../../src/store/store.ts'
import { runCommand, type TemporaryDatabase, temporaryDatabase } from '../../support/process.ts'

const step = migrations[21].name
let database: TemporaryDatabase
let path: string
beforeEach(() => {
  database = temporaryDatabase()
  path = join(database.folder, 'grid.db')
  writeFileSync(path, pastDatabase(step))
})
afterEach(() => database.remove())

test('a start that migrates keeps the file as it was, readable by its owner alone, and does not lose its lock', async () => {
  const before = await rows(path)

  const store = await open()
  const second = await runCommand('bun', ['serve', '--json'], { DATABASE_URL: database.url, PORT: '0' })

  expect(JSON.parse(second.stdout).error.code).toBe('database_in_use')
  expect(copies()).toEqual(['grid.db.schema-22'])
  expect(statSync(join(database.folder, 'grid.db.schema-22')).mode & 0o777).toBe(0o600)
  expect(await rows(join(database.folder, 'grid.db.schema-22'))).toEqual(before)
  await store.close()
})

test('a start without a migration, one of a new file, and one with MIGRATION_COPY=off keep nothing', async () => {
  await (await open({ MIGRATION_COPY: 'off' })).close()
  await (await open()).close()
  database.url = `file:${join(database.folder, 'new.db')}`
  await (await open()).close()

  expect(copies()).toEqual([])
})

test('a start whose disk has no space for the copy is refused, and nothing is migrated', async () => {
  await expect(open({}, { readSpace: () => Promise.resolve({ free: 1_000, total: 10 ** 9 }) })).rejects.toMatchObject({
    code: 'disk_full',
    message: expect.stringMatching(
      /^The database .+ has to be migrated, and a copy .+ takes 1 MB, and the disk has 1 MB free\. Free some space/,
    ),
  })

  // The header of an SQLite file has the version of its schema.
  expect(readFileSync(path).readUInt32BE(60)).toBe(22)
  expect(copies()).toEqual([])
})

test('a copy of the same schema is replaced, and what a killed start left of one is removed', async () => {
  writeFileSync(join(database.folder, 'grid.db.schema-22'), 'older')
  writeFileSync(join(database.folder, 'grid.db.schema-22.new'), 'unfinished')
  const before = await rows(path)

  await (await open()).close()

  expect(copies()).toEqual(['grid.db.schema-22'])
  expect(await rows(join(database.folder, 'grid.db.schema-22'))).toEqual(before)
})

test('copies of several schemas are removed together, and nothing else is', async () => {
  const store = await open()
  for (const name of ['grid.db.schema-9', 'grid.db.schema-x', 'other.db.schema-1']) {
    writeFileSync(join(database.folder, name), '')
  }

  expect(store.removePreviousFiles()).toEqual([9, 22].map((version) => `${path}.schema-${version}`))

  expect(copies()).toEqual(['grid.db.schema-x', 'other.db.schema-1'])
  await store.close()
})

async function open(env: Record<string, string> = {}, options: StoreOptions = {}) {
  const config = readConfig({ DATABASE_URL: database.url, LOG_LEVEL: 'error', BALLAST_MB: '0', ...env })
  return await openStore(processDeps(config), options)
}

function copies(): string[] {
  return readdirSync(database.folder).filter((name) => name.includes('schema')).sort()
}

async function rows(file: string) {
  const client = createClient({ url: `file:${file}`, concurrency: 1 })
  const { rows: [{ user_version }] } = await client.execute('PRAGMA user_version')
  const found = [user_version, await rowsOf(client, step)]
  client.close()
  return found
}
