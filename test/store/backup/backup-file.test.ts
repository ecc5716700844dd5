/** Backups that are damaged or forged, or for which the disk has no space. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { copyDatabaseCommand } from '../../../src/cli/copy-database.ts'
import { openBackup, sealCopy } from '../../../src/store/backup/backup-file.ts'
import { requireSpace, temporaryFolder } from '../../../src/store/backup/files.ts'
import { readSealedFile, writeSealedFile } from '../../../src/store/backup/sealed-file.ts'
import { backUpStopped } from '../../../src/store/backup/stopped.ts'
import { minute } from '../../../src/lib/time.ts'
import { type LocalFile, localFile } from '../../support/local-file.ts'
import { waitFor } from '../../support/wait-for.ts'

let file: LocalFile
let backup: string
let target: string
const now = Date.parse('2026-11-22T12:00:00Z')

beforeAll(async () => {
  file = localFile()
  const { store } = await file.open({ MIN_FREE_MB: '0' })
  await store.write([{
    sql: `INSERT INTO push_keys (id, public_key, encrypted_token, token_iv, token_auth_tag, token_key_id, created_at)
      VALUES ('vapid', '', '', '', '', 'a-key', 0)`,
    args: [],
  }])
  await store.close()
  backup = join(file.folder, 'b')
  target = join(file.folder, 'opened.db')
  await backUpStopped({ url: `file:${file.path}` }, { path: backup, key: 'plain', madeAt: now, minFreeBytes: 0 })
})
afterAll(() => file.close())

async function* parts(...bytes: Uint8Array<ArrayBuffer>[]) {
  yield* bytes
}

test('a manifest that is missing, truncated, endless or invalid JSON is refused', async () => {
  const bytes = (...numbers: number[]) => Uint8Array.from(numbers)
  const contents = [
    bytes(),
    bytes(0, 0, 0),
    bytes(0, 0, 1, 0, 123),
    bytes(255, 255, 255, 255, 123),
    bytes(0, 0, 0, 2, 123, 123),
  ]
  for (const [n, content] of contents.entries()) {
    const forged = join(file.folder, `forged-${n}`)
    await writeSealedFile(forged, 'plain', parts(content))
    await expect(openBackup(forged, undefined, target)).rejects.toMatchObject({ code: 'backup_damaged' })
    expect(existsSync(target)).toBe(false)
  }
})

test('a backup whose database does not match its manifest is refused', async () => {
  const manifest = await openBackup(backup, undefined, target)
  const database = new Uint8Array(readFileSync(target))
  rmSync(target)
  const text = new TextEncoder().encode(JSON.stringify({ ...manifest, rows: { ...manifest.rows, agents: 1 } }))
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, text.length)
  const forged = join(file.folder, 'other-manifest')
  await writeSealedFile(forged, 'plain', parts(length, text, database))

  await expect(openBackup(forged, undefined, target)).rejects.toMatchObject({
    code: 'backup_damaged',
    message: expect.stringContaining('the table agents has 0 rows and not 1'),
  })
  expect(existsSync(target)).toBe(false)
})

test('a header that demands much memory is refused before its key is derived', async () => {
  const salt = 'A'.repeat(43)
  for (
    const scrypt of [{ n: 2 ** 30, r: 8, p: 1 }, { n: 2 ** 16, r: 2 ** 20, p: 2 }, { n: 2 ** 16, r: 8, p: 2 ** 20 }]
  ) {
    const hostile = join(file.folder, 'hostile')
    writeFileSync(hostile, `agent-grid backup 1\n${JSON.stringify({ scrypt, salt, check: '' })}\n`)
    const read = async () => {
      for await (const part of readSealedFile(hostile, { passphrase: 'correct horse battery' })) return part
    }
    await expect(read()).rejects.toMatchObject({ code: 'not_a_backup' })
  }
})

test("a backup that would fill the database's disk is not started", async () => {
  const copy = join(file.folder, 'copy.db')
  await openBackup(backup, undefined, copy)
  // The required space is at most a tenth of the disk, so a small disk needs less.
  const space = { free: 90, total: 10_000 }
  await expect(requireSpace(file.folder, 50, 40, () => Promise.resolve(space))).resolves.toBeUndefined()
  await expect(requireSpace(file.folder, 51, 40, () => Promise.resolve(space)))
    .rejects.toMatchObject({ code: 'storage_full' })
  const path = join(file.folder, 'not-begun')
  const { size } = statSync(copy)
  const readSpace = () => Promise.resolve({ free: size + 39, total: 10_000 })
  const settings = { path, key: 'plain', madeAt: now, thread: false, minFreeBytes: 40, readSpace } as const
  await expect(sealCopy(copy, settings))
    .rejects.toMatchObject({ code: 'storage_full' })
  expect(existsSync(path)).toBe(false)
})

test('temporary copies left by a crash are removed after a day', async () => {
  const [old, recent] = ['old', 'recent'].map((name) =>
    join(tmpdir(), `agent-grid-copy-${crypto.randomUUID()}-${name}`)
  )
  for (const folder of [old, recent]) mkdirSync(folder)
  utimesSync(old, (Date.now() - 25 * 60 * minute) / 1_000, (Date.now() - 25 * 60 * minute) / 1_000)
  try {
    await temporaryFolder('copy', Date.now())
    expect([old, recent].map((folder) => existsSync(folder))).toEqual([false, true])
  } finally {
    for (const folder of [old, recent]) rmSync(folder, { recursive: true, force: true })
  }
})

test("a server's copy is deleted when the command that uses it ends", async () => {
  const { store } = await file.open({ MIN_FREE_MB: '0' })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const ask = async (job?: string) => {
      const result = await copyDatabaseCommand.run(store, { job })
      return { job: String(result.job), path: String(result.path) }
    }
    let { job, path } = await ask()
    while (path === 'null') ({ job, path } = await ask(job))
    for (let n = 0; n < 3; n++) {
      await vi.advanceTimersByTimeAsync(4 * minute)
      expect(await ask(job)).toEqual({ job, path })
    }
    expect(existsSync(path)).toBe(true)
    await vi.advanceTimersByTimeAsync(6 * minute)
    await expect(ask(job)).rejects.toMatchObject({ code: 'no_copy' })
    vi.useRealTimers()
    await waitFor('the end of the copy', () => !existsSync(path))
  } finally {
    vi.useRealTimers()
    await store.close()
  }
})
