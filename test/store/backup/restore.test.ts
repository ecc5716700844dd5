/** Restoring a backup into a local file. With servers: `test/e2e/backup.test.ts`. */
import { chownSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDatabase, withDatabase } from '../../../src/store/backup/copied-database.ts'
import { copyGrid } from '../../../src/store/backup/move.ts'
import { restoreFile } from '../../../src/store/backup/restore.ts'
import { backUpStopped } from '../../../src/store/backup/stopped.ts'
import { testGrid } from '../../support/grid.ts'
import { type LocalFile, localFile } from '../../support/local-file.ts'

let file: LocalFile
let path: string
let backup: string
const now = Date.parse('2026-11-22T12:00:00Z')
const restore = () => restoreFile({ path, backup, key: undefined, now, gridKeys: undefined, withoutKeys: true })

beforeEach(async () => {
  file = localFile()
  path = join(file.folder, 'grid.db')
  backup = join(file.folder, 'a.backup')
  const grid = await testGrid({ url: `file:${path}`, env: { MIN_FREE_MB: '0' } })
  await grid.close()
  await backUpStopped({ url: `file:${path}` }, { path: backup, key: 'plain', madeAt: now })
})
afterEach(() => file.close())

/** As after `kill -9`, and a hand that removes the database alone. */
async function removeAllButTheLog(): Promise<Buffer> {
  const { client, release } = await lockDatabase(path)
  await client.execute("INSERT INTO store_facts (key, value) VALUES ('later', 'yes')")
  const log = readFileSync(`${path}-wal`)
  await release()
  rmSync(path)
  writeFileSync(`${path}-wal`, log)
  return log
}

test('the log of a database that was removed is kept apart, and nothing of it gets into the restored one', async () => {
  const log = await removeAllButTheLog()

  const { kept } = await restore()

  const facts = await withDatabase(path, false, (client) => client.execute('SELECT key FROM store_facts'))
  expect(facts.rows.map(({ key }) => key)).toContain('epoch')
  expect(facts.rows.map(({ key }) => key)).not.toContain('later')
  expect(kept.map((file) => basename(file))).toEqual(['grid.db-wal.before-2026-11-22T12-00-00Z'])
  expect(readFileSync(kept[0]).equals(log)).toBe(true)
})

test('a grid is not copied to where a log is left', async () => {
  const to = join(file.folder, 'other.db')
  writeFileSync(`${to}-wal`, 'log')

  const copied = copyGrid({ from: { url: `file:${path}` }, to: { url: `file:${to}` }, now: () => now }, () => {})

  await expect(copied).rejects.toMatchObject({
    code: 'database_not_empty',
    message: expect.stringContaining('other.db-wal is not empty'),
  })
})

test.skipIf(process.getuid?.() !== 0)('what root restores belongs to the user of the grid', async () => {
  chownSync(path, 12_345, 12_345)
  await restore()
  expect(statSync(path).uid).toBe(12_345)

  rmSync(path)
  chownSync(file.folder, 23_456, 23_456)
  await restore()
  expect(statSync(path).uid).toBe(23_456)
})

test('a restore that is refused leaves the log where it is', async () => {
  const log = await removeAllButTheLog()
  renameSync(backup, `${backup}.moved`)
  writeFileSync(backup, 'no backup')

  await expect(restore()).rejects.toMatchObject({ code: 'not_a_backup' })

  expect(readFileSync(`${path}-wal`).equals(log)).toBe(true)
  expect(readdirSync(file.folder)).not.toContain('grid.db')
})
