/** Reading the log while it grows, and how much space a copy takes. */
import { existsSync, mkdtempSync, statSync, symlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCopier } from '../../../src/store/backup/copier.ts'
import type { FileSystemSpace } from '../../../src/store/driver/disk-space.ts'
import { DatabaseFile } from '../../../src/store/driver/file-copy.ts'
import { foldLog } from '../../../src/store/driver/local-file.ts'
import { LogLostError, LogReader } from '../../../src/store/driver/log-reader.ts'
import { type LocalFile, localFile, pragmas, putFact } from '../../support/local-file.ts'

const pageBytes = 4_096

let file: LocalFile
beforeEach(() => file = localFile())
afterEach(() => file.close())

async function reading() {
  const { store, client } = await file.open({ DURABILITY: 'relaxed', MIN_FREE_MB: '0' })
  const pages = join(mkdtempSync(join(file.folder, 'log-')), 'pages')
  const log = new LogReader(file.path, pageBytes, pages)
  file.closing.push(() => log.close())
  await foldLog(client)
  log.begin()
  return { store, client, log, pages }
}

test('a page that is written again and again is kept once', async () => {
  const { store, log, pages } = await reading()
  await putFact(store, 'hot')
  const value = 'x'.repeat(3_000)
  for (let n = 0; n < 300; n++) {
    await store.write([{ sql: "UPDATE store_facts SET value = ? WHERE key = 'hot'", args: [`${n} ${value}`] }])
    if (n % 7 === 0) log.readOn()
  }
  log.readOn()

  expect(log.readBytes).toBeGreaterThan(300 * pageBytes)
  expect(statSync(pages).size).toBeLessThan(20 * pageBytes)
  const target = join(dirname(pages), 'applied')
  const copy = await open(target, 'w')
  await log.applyTo(copy)
  const text = await open(target).then(async (opened) => {
    const read = await opened.readFile('latin1')
    await opened.close()
    return read
  })
  await copy.close()
  expect(text).toContain('299 xxx')
  expect(text).not.toContain('298 xxx')
})

test('a fold of commits that were not read is found out', async () => {
  const { store, client, log } = await reading()
  await putFact(store, 'read')
  log.readOn()
  log.folded((await foldLog(client)).pages)
  expect(log.readBytes).toBe(0)

  await putFact(store, 'read too')
  log.readOn()
  await putFact(store, 'not read')
  const { pages, isWhole } = await foldLog(client)
  expect(isWhole).toBe(true)
  expect(() => log.folded(pages)).toThrow(LogLostError)
})

test('the file and its log are found through a symbolic link', async () => {
  const { store } = await reading()
  await putFact(store, 'one')
  const link = join(file.folder, 'link.db')
  symlinkSync(file.path, link)

  expect(new DatabaseFile(link).path).toBe(file.path)
})

test('a copy ends when the disk becomes too full for messages, and leaves nothing', async () => {
  const { client } = await file.open({ MIN_FREE_MB: '0' })
  const mb = 2 ** 20
  const free = [2 ** 40, 99 * mb]
  const readSpace = (): Promise<FileSystemSpace> => Promise.resolve({ free: free.shift() ?? 99 * mb, total: 2 ** 40 })
  const copier = createCopier({
    database: { client, path: file.path, openSnapshot: () => Promise.reject(new Error('unused')) },
    betweenCommits: (work) => work(),
    minFreeBytes: 100 * mb,
    readSpace,
  })
  const target = join(file.folder, 'copy.db')

  await expect(copier.copyTo(target)).rejects.toMatchObject({ code: 'storage_full' })

  expect([target, `${target}.pages`].filter((path) => existsSync(path))).toEqual([])
  expect(await pragmas(client)).toMatchObject({ wal_autocheckpoint: 4_000 })
  free.push(2 ** 40, 2 ** 40)
  await copier.copyTo(target)
  expect(existsSync(target)).toBe(true)
  file.closing.unshift(() => copier.close())
})
