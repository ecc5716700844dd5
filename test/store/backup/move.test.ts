/** Moving a grid from a local file to libsql-server and back, and backups of a remote database. */
import { createClient } from '@libsql/client'
import { copyFileSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBackup } from '../../../src/store/backup/backup-file.ts'
import { contentOf } from '../../../src/store/backup/local-copy.ts'
import { copyGrid } from '../../../src/store/backup/move.ts'
import { restoreFile, restoreRemote } from '../../../src/store/backup/restore.ts'
import { backUpStopped, openStopped } from '../../../src/store/backup/stopped.ts'
import { snapshotOf } from '../../../src/store/driver/snapshot.ts'
import { tableNames } from '../../../src/store/backup/tables.ts'
import { type LocalFile, localFile } from '../../support/local-file.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'
import { testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { seedSite } from '../../support/site.ts'

let file: LocalFile
let server: Sqld
let url: string
const now = () => Date.parse('2026-11-22T12:00:00Z')
const copy = (from: string, to: string) => copyGrid({ from: { url: from }, to: { url: to }, now }, () => {})

beforeAll(async () => {
  file = localFile()
  server = await startSqld({ isRelaxed: true })
  // Every page of the seeded grid shows data, so almost every table has rows.
  url = `file:${join(file.folder, 'grid.db')}`
  const grid = await testGrid({ url, env: { MIN_FREE_MB: '0' } })
  await seedSite(grid)
  for (let n = 0; n < 20; n++) {
    const message = `${n} \u{1f409} ${'x'.repeat(9_000)}`
    await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message })
  }
  await grid.close()
})
afterAll(async () => {
  await server.stop()
  await file.close()
})

/** Opens a copy of a file, because the driver may keep an opened file for some time. */
function opened(databaseUrl: string) {
  if (!databaseUrl.startsWith('file:')) return createClient({ url: databaseUrl })
  const copied = join(mkdtempSync(join(file.folder, 'opened-')), 'grid.db')
  copyFileSync(databaseUrl.slice('file:'.length), copied)
  return createClient({ url: `file:${copied}` })
}

/** Returns every row of every table, and the size of the search index. */
async function dump(databaseUrl: string) {
  const client = opened(databaseUrl)
  const source = snapshotOf(client)
  const found: Record<string, unknown[]> = {}
  for (const table of [...await tableNames(source), 'sqlite_sequence']) {
    const rows = await source.query(`SELECT * FROM "${table}"`)
    found[table] = rows.map((row) => JSON.stringify(row)).sort()
  }
  found.store_facts = found.store_facts.filter((row) => !String(row).includes('"backup"'))
  // The message index is rebuilt instead of copied, so its position is not compared.
  found.projections = found.projections.filter((row) => !String(row).includes('search'))
  found.search = await source.query('SELECT count(*) FROM agent_search')
  found.schema = (await source.query(
    "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'libsql%' AND name NOT LIKE 'sqlite%'",
  ))
    .map(String).sort()
  found.version = await source.query('PRAGMA user_version')
  client.close()
  return found
}

test('a grid moves from a file to libsql-server and back with equal rows', async () => {
  const before = await dump(url)
  expect(Object.values(before).filter((rows) => rows.length > 0).length).toBeGreaterThan(30)

  await copy(url, server.url)
  expect(await dump(server.url)).toEqual(before)
  await expect(copy(url, server.url)).rejects.toMatchObject({ code: 'database_not_empty' })

  const back = `file:${join(file.folder, 'back', 'grid.db')}`
  await copy(server.url, back)
  expect(await dump(back)).toEqual(before)
  await expect(copy(server.url, back)).rejects.toMatchObject({ code: 'database_not_empty' })
})

test('a copy of a remote database fails if a process starts on it during the copy', async () => {
  const client = opened(server.url)
  let began: Promise<unknown> | undefined
  const copied = copyGrid(
    { from: { url: server.url }, to: { url: `file:${join(file.folder, 'served', 'grid.db')}` }, now },
    () => {
      began ??= client.execute(
        "INSERT INTO instances (id, heartbeats, present, ring, created_at) VALUES ('i', 1, '[]', '[]', 0)",
      )
    },
  )

  await expect(copied).rejects.toMatchObject({ code: 'database_in_use' })

  await began
  await client.execute("DELETE FROM instances WHERE id = 'i'")
  client.close()
})

test('a remote database can be backed up, and restored into a file', async () => {
  const path = join(file.folder, 'remote.backup')
  const { manifest } = await backUpStopped({ url: server.url }, { path, key: 'plain', madeAt: now(), minFreeBytes: 0 })
  const target = join(file.folder, 'opened.db')
  expect(await openBackup(path, undefined, target)).toEqual(manifest)

  const restored = join(file.folder, 'restored', 'grid.db')
  const options = { backup: path, key: undefined, now: now(), gridKeys: undefined }
  await expect(restoreFile({ ...options, path: restored, withoutKeys: false }))
    .rejects.toMatchObject({ code: 'key_ring_missing' })
  await restoreFile({ ...options, path: restored, withoutKeys: true })
  const client = opened(`file:${restored}`)
  expect((await contentOf(snapshotOf(client))).rows).toEqual({ ...manifest.rows })
  client.close()
  await expect(restoreRemote({ ...options, address: { url: server.url }, withoutKeys: true }))
    .rejects.toMatchObject({ code: 'database_not_empty' })
})

test('a grid does not start on an unfinished copy, or on a database that is being copied', async () => {
  for (
    const [fact, value, code] of [
      ['copying_until', String(Date.now() + 60_000), 'copy_running'],
      ['copy_unfinished', '', 'copy_unfinished'],
    ]
  ) {
    const path = join(file.folder, `${code}.db`)
    copyFileSync(url.slice('file:'.length), path)
    const { client, close } = await openStopped({ url: `file:${path}` })
    await client.execute({ sql: 'INSERT INTO store_facts (key, value) VALUES (?, ?)', args: [fact, value] })
    await close()

    await expect(testGrid({ url: `file:${path}` })).rejects.toMatchObject({ code })
  }
})
