/** Upgrades from each released schema, returns to it, and processes of two versions. See docs/operating/upgrades.md. */
import Database from 'libsql'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { beforeEach, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import { differences, schemaAfter, schemaOf } from '../../scripts/schema-changes.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { day } from '../../src/lib/time.ts'
import { restoreFile } from '../../src/store/backup/restore.ts'
import { backUpStopped } from '../../src/store/backup/stopped.ts'
import { allQueries } from '../../src/store/sql.ts'
import { browser } from '../support/browse.ts'
import { type Cast, type TestAgent, type TestGrid, testGrid, type TestGridOptions } from '../support/grid.ts'
import { withStep } from '../support/later-step.ts'
import { callTool } from '../support/mcp.ts'
import { password } from '../support/people.ts'
import { startSqld } from '../support/sqld.ts'
import { useDatabase } from '../support/use-database.ts'

const first = schemaAfter(migrations.flatMap(({ statements }) => statements))
const tables = [...first.values()].filter(({ type, sql }) => type === 'table' && !/^CREATE VIRTUAL/.test(sql))
/** Every change that a compatible step may make to tables of the previous version. */
const compatibleStep = [
  ...tables.map(({ name }) => `ALTER TABLE ${name} ADD added_later text`),
  "CREATE TABLE added_later (account_id text REFERENCES accounts(id) ON DELETE CASCADE, words text DEFAULT '' NOT NULL)",
]

const database = useDatabase()
let path: string
let env: Record<string, string>
beforeEach(() => {
  path = join(database.folder, 'grid.db')
  env = { GRID_KEYS: newKeyRing() }
})

const versions = readdirSync('test/fixtures/released')

test.each(versions)('the steps since %s make its database like a new one, and the grid works', async (version) => {
  const folder = `test/fixtures/released/${version}`
  writeFileSync(path, brotliDecompressSync(readFileSync(`${folder}/grid.db.br`)))
  const { keys, cast }: { keys: string; cast: Cast } = JSON.parse(readFileSync(`${folder}/grid.json`, 'utf8'))
  const released = new Database(path)
  const { hash } = released.prepare('SELECT hash FROM __drizzle_migrations').get() as { hash: string }
  released.close()
  expect(hash, `"npm run lab -- released-schema ${version}" makes it anew until the release`).toBe(migrations[0].hash)

  await withStep(compatibleStep, true, async () => {
    const grid = await testGrid({ url: database.url, env: { GRID_KEYS: keys }, cast })
    expect(await read(grid, cast.bob)).toContain('Data')
    expect((await browser(grid).signIn('pat@acme.example', password)).html).toContain('Acme')
    await grid.store.close()

    const file = new Database(path)
    const fresh = schemaAfter(migrations.flatMap(({ statements }) => statements))
    const withoutRows = new Map([...fresh].filter(([, { type }]) => type !== 'rows'))
    expect(differences(schemaOf(file), withoutRows)).toEqual([])
    expect(file.prepare('PRAGMA foreign_key_check').all()).toEqual([])
    expect(tables.filter(({ name }) => file.prepare(`SELECT 1 FROM ${name} LIMIT 1`).all().length === 0)).toEqual([])
    file.close()
  })
})

test("a column added by a later step changes no statement and no query's row", () => {
  const columnsOf = (steps: string[]) => {
    const file = new Database(':memory:')
    for (const sql of [...migrations.flatMap(({ statements }) => statements), ...steps]) file.exec(sql)
    // deno-lint-ignore no-explicit-any -- the types of the driver leave it out
    const names = (sql: string) => (file.prepare(sql) as any).columns().map(({ name }: { name: string }) => name)
    return allQueries.map(({ sql }) => [sql, names(sql)])
  }

  expect(columnsOf(compatibleStep)).toEqual(columnsOf([]))
  expect(allQueries.length).toBeGreaterThan(500)
})

test('a newer process migrates a server while an older one works, both continue, and a recent backup is required', async () => {
  const server = await startSqld({ isRelaxed: true })
  const older = await testGrid({ url: server.url, env })
  const cast = { ...older, acme: older.acme, evil: older.evil }
  const open = (options: TestGridOptions = {}) => testGrid({ url: server.url, env, cast, ...options })
  const backUp = (madeAt: number) =>
    backUpStopped({ url: server.url }, {
      path: join(database.folder, `${madeAt}`),
      key: 'plain',
      madeAt,
      minFreeBytes: 0,
    })

  await withStep(compatibleStep, true, async () => {
    await expect(open()).rejects.toMatchObject({
      code: 'backup_needed',
      message: expect.stringContaining('--backed-up'),
    })
    await backUp(older.clock.now - day)
    await expect(open()).rejects.toMatchObject({ code: 'backup_needed' })
    await backUp(older.clock.now)

    const sent = Array.from({ length: 5 }, (_, n) => send(older, older.alice, '@bob', `${n}`))
    const [newer] = await Promise.all([open(), ...sent])

    expect(newer.store.migrated).toHaveLength(1)
    expect((await read(newer, newer.bob)).sort()).toEqual(Array.from(sent, (_, n) => `${n}`))
    await send(newer, newer.bob, '@alice', 'from the newer one')
    expect(await read(older, older.alice)).toEqual(['from the newer one'])
    await send(older, older.alice, '@bob', 'from the older one')
    expect(await read(newer, newer.bob)).toEqual(['from the older one'])
    await send(newer, newer.bob, '@alice', 'for one that starts again')

    // The backup has the previous schema.
    await withStep(['CREATE TABLE last (id text)'], true, async () => {
      await expect(open()).rejects.toMatchObject({ code: 'backup_needed' })
      expect((await open({ withoutBackup: true })).store.migrated).toHaveLength(1)
    })
  })
  const again = await open()

  expect([again.store.migrated, again.store.schemaVersion]).toEqual([[], migrations.length + 2])
  expect(await read(again, again.alice)).toEqual(['for one that starts again'])
  await server.stop()
})

test('the copy from before an incompatible step restores the previous version', async () => {
  const grid = await testGrid({ url: database.url, env })
  const cast = { ...grid, acme: grid.acme, evil: grid.evil }
  const open = () => testGrid({ url: database.url, env, cast })
  await send(grid, grid.alice, '@bob', 'before')
  await grid.store.close()
  await withStep(['DROP TABLE snoozes'], false, async () => {
    const newer = await open()
    await send(newer, newer.alice, '@bob', 'after')
    await newer.store.close()
  })
  await expect(open()).rejects.toMatchObject({ code: 'schema_newer' })

  const backup = join(database.folder, 'back.backup')
  const now = grid.clock.now
  await backUpStopped({ url: `${database.url}.schema-${migrations.length}` }, {
    path: backup,
    key: 'plain',
    madeAt: now,
    minFreeBytes: 0,
  })
  await restoreFile({ path, backup, key: undefined, now, gridKeys: env.GRID_KEYS, withoutKeys: false })

  const back = await open()
  expect(await read(back, back.bob)).toEqual(['before'])
  await back.store.close()
})

async function send(grid: TestGrid, { key }: TestAgent, to: string, message: string): Promise<void> {
  const { code } = await callTool(grid, key, 'send_message', { to, message })
  expect(code).toBeUndefined()
}

async function read(grid: TestGrid, { key }: TestAgent): Promise<string[]> {
  const { text } = await callTool(grid, key, 'read_messages')
  return text.map(({ message }: { message: string }) => message)
}
