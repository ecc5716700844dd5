/** The local database file: pragmas, file modes, path, and closing. */
import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type LocalFile, localFile, pragmas, putFact } from '../../support/local-file.ts'

let file: LocalFile
beforeEach(() => {
  file = localFile()
})
afterEach(() => file.close())

test.each([
  ['full', 2],
  ['relaxed', 1],
])('durability %s sets the pragmas', async (durability, synchronous) => {
  const { store, client } = await file.open({ DURABILITY: durability })

  expect(await pragmas(client)).toEqual({
    journal_mode: 'wal',
    synchronous,
    foreign_keys: 1,
    cache_size: -16_000,
    wal_autocheckpoint: 4_000,
    journal_size_limit: 33_554_432,
  })
  expect(store.durability).toBe(durability)
  expect(openFiles()).toEqual(['', '-shm', '-wal', '.lock'].map((ending) => file.path + ending))
})

test('only the owner can read the folder, the file, its log and the owner file', async () => {
  await file.open()

  const modes = ['', '/grid.db', '/grid.db-shm', '/grid.db-wal', '/grid.db.lock', '/grid.db.owner'].map((
    name,
  ) => [name, modeOf(join(file.folder, 'data') + name)])
  expect(modes.map(([, mode]) => mode)).toEqual(['700', '600', '600', '600', '600', '600'])
})

test('closing the store checkpoints the log into the file', async () => {
  const { store } = await file.open()
  await putFact(store, 'kept')

  await store.close()

  expect(readdirSync(join(file.folder, 'data'))).toEqual(['grid.db', 'grid.db.keys', 'grid.db.lock'])
  expect(await file.facts()).toContain('kept')
})

test('a full disk causes storage_full, and the process continues', async () => {
  const faults: unknown[] = []
  const { store, client } = await file.open({}, { onStorageFault: (error) => faults.push(error) })
  await client.execute('PRAGMA max_page_count = 1')

  const big = { sql: "INSERT INTO store_facts (key, value) VALUES ('big', ?)", args: ['x'.repeat(1_000_000)] }
  await expect(store.write([big])).rejects.toMatchObject({ code: 'storage_full' })
  await client.execute('PRAGMA max_page_count = 1000000')
  await putFact(store, 'after')

  expect(faults).toEqual([])
})

/** Returns the files in the folder that this process has open. */
function openFiles(): string[] {
  const links = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
  return links.filter((link) => link.startsWith(file.folder)).sort()
}

function modeOf(name: string): string {
  return (statSync(name).mode & 0o777).toString(8)
}
