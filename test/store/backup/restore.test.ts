/** Restoring a local file: killed at any step, and with other files at its path. */
import { createClient } from '@libsql/client'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { copyGrid } from '../../../src/store/backup/move.ts'
import { backUpStopped, openStopped } from '../../../src/store/backup/stopped.ts'
import { isFull } from '../../../src/store/driver/database-errors.ts'
import { isNoSpace } from '../../../src/store/driver/local-file.ts'
import { newerSchema } from '../../support/later-step.ts'
import { type LocalFile, localFile, putFact } from '../../support/local-file.ts'
import { smallDisk } from '../../support/small-disk.ts'

/** A hook that runs before and after each step that changes files. It gets the step's name. */
const disk = vi.hoisted(() => ({ onStep: undefined as undefined | ((name: string) => void) }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const watched = (name: 'renameSync' | 'rmSync') => (...args: never[]) => {
    if (!disk.onStep) return (fs[name] as (...args: never[]) => void)(...args)
    disk.onStep(`before ${name}`)
    ;(fs[name] as (...args: never[]) => void)(...args)
    disk.onStep(`after ${name}`)
  }
  return { ...fs, ...Object.fromEntries((['renameSync', 'rmSync'] as const).map((n) => [n, watched(n)])) }
})
vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>()
  return {
    ...fs,
    async open(...args: Parameters<typeof fs.open>) {
      disk.onStep?.('before open')
      const file = await fs.open(...args)
      const sync = file.sync.bind(file)
      const write = file.write.bind(file) as (...args: unknown[]) => Promise<unknown>
      return Object.assign(file, {
        async sync() {
          disk.onStep?.('before sync')
          await sync()
          disk.onStep?.('after sync')
        },
        async write(...args: unknown[]) {
          disk.onStep?.('before write')
          const written = await write(...args)
          disk.onStep?.('after write')
          return written
        },
      })
    },
  }
})

// The test files of a process share their modules. Resetting them makes this file's imports use the hooks.
vi.resetModules()
const { restoreFile, verifyBackup } = await import('../../../src/store/backup/restore.ts')
afterAll(() => void vi.resetModules())

let file: LocalFile
let backup: string
let folder: string
const now = Date.parse('2026-11-22T12:00:00Z')
const keyless = { key: undefined, now, gridKeys: undefined, withoutKeys: false }
const restore = (path: string) => restoreFile({ ...keyless, backup, path })

/** Creates a grid, and a backup without the grid's last fact, which is still in the log. */
beforeEach(async () => {
  file = localFile()
  folder = dirname(file.path)
  backup = join(file.folder, 'b')
  const settings = { MIN_FREE_MB: '0' }
  const first = await file.open(settings)
  await putFact(first.store, 'in the backup')
  await first.store.close()
  await backUpStopped({ url: `file:${file.path}` }, { path: backup, key: 'plain', madeAt: now, minFreeBytes: 0 })
  const second = await file.open(settings)
  await putFact(second.store, 'later')
  // Restores the files as a killed process would have left them.
  const killed = join(file.folder, 'killed')
  cpSync(folder, killed, { recursive: true })
  await second.store.close()
  rmSync(folder, { recursive: true })
  cpSync(killed, folder, { recursive: true })
  rmSync(killed, { recursive: true })
  expect(existsSync(`${file.path}-wal`)).toBe(true)
})
afterEach(async () => {
  disk.onStep = undefined
  await file.close()
})

/** Returns the facts in a database, read from a copy of the file and its log. */
async function factsOf(path: string): Promise<string[]> {
  const copy = join(file.folder, 'read')
  rmSync(copy, { recursive: true, force: true })
  mkdirSync(copy)
  for (const ending of ['', '-wal', '-journal']) {
    if (existsSync(path + ending)) cpSync(path + ending, join(copy, `grid.db${ending}`))
  }
  const client = createClient({ url: `file:${join(copy, 'grid.db')}` })
  const { rows } = await client.execute('SELECT key FROM store_facts')
  expect((await client.execute('PRAGMA integrity_check')).rows[0][0]).toBe('ok')
  client.close()
  return rows.map(({ key }) => String(key))
}

const keptIn = (inFolder: string) => readdirSync(inFolder).filter((name) => /\.before-[\dTZ-]*$/.test(name))

test('a restore that is killed at any step loses nothing', async () => {
  const states: { name: string; folder: string }[] = []
  disk.onStep = (name) => {
    const { onStep } = disk
    disk.onStep = undefined
    const state = join(file.folder, `state-${states.length}`)
    cpSync(folder, state, { recursive: true })
    states.push({ name, folder: state })
    disk.onStep = onStep
  }
  await restore(file.path)
  disk.onStep = undefined
  states.push({ name: 'the end', folder })
  expect(states.length).toBeGreaterThanOrEqual(20)

  const seen = new Set<string>()
  for (const { name, folder: state } of states) {
    const path = join(state, 'grid.db')
    const kept = keptIn(state).map((found) => join(state, found))
    // At each step, the file contains the old or the new grid, or it is missing, and then a start is refused.
    if (existsSync(path)) {
      const facts = await factsOf(path)
      expect(facts, name).toContain('in the backup')
      seen.add(facts.includes('later') ? 'old' : 'new')
    } else {
      seen.add('none')
      const config = { DATABASE_URL: `file:${path}`, MIN_FREE_MB: '0' }
      await expect(file.open(config), name).rejects.toMatchObject({ code: 'copy_unfinished' })
    }
    const all = await Promise.all([path, ...kept].filter((found) => existsSync(found)).map((found) => [found]))
    const facts = []
    for (const [found] of all) facts.push(...await factsOf(found))
    expect(facts, name).toContain('later')

    // A second run completes the restore.
    await restore(path)
    expect(await factsOf(path), name).not.toContain('later')
    expect(readdirSync(state).filter((left) => /restoring|-wal$|-journal$/.test(left)), name).toEqual([])
  }
  expect([...seen].sort()).toEqual(['new', 'none', 'old'])
})

test.each([
  ['migration_changed', ["UPDATE __drizzle_migrations SET hash = 'x'"]],
  ['schema_newer', newerSchema],
])(
  'a database that this program refuses to start on cannot be restored, verified or copied: %s',
  async (code, statements) => {
    const other = join(file.folder, 'other.db')
    cpSync(file.path, other)
    const { client, close } = await openStopped({ url: `file:${other}` })
    await client.batch(statements)
    await close()
    backup = join(file.folder, 'of another version')
    await backUpStopped({ url: `file:${other}` }, { path: backup, key: 'plain', madeAt: now, minFreeBytes: 0 })

    await expect(restore(file.path)).rejects.toMatchObject({ code, message: expect.stringContaining(backup) })
    await expect(verifyBackup({ backup, key: undefined, now })).rejects.toMatchObject({ code })
    const target = join(file.folder, 'target.db')
    const copied = copyGrid({ from: { url: `file:${other}` }, to: { url: `file:${target}` }, now: () => now }, () => {})
    await expect(copied).rejects.toMatchObject({ code })

    expect(existsSync(target)).toBe(false)
    expect(keptIn(folder)).toEqual([])
    expect(await factsOf(file.path)).toContain('later')
  },
)

test('a restored grid does not report the backup that was in progress', async () => {
  const { store } = await file.open({ MIN_FREE_MB: '0' })
  await store.write([store.global.backups.noteFailed({ at: now, reason: 'The server ended.' })])
  await store.close()
  backup = join(file.folder, 'made by a server')
  await backUpStopped({ url: `file:${file.path}` }, { path: backup, key: 'plain', madeAt: now, minFreeBytes: 0 })

  await restore(file.path)

  expect(await factsOf(file.path)).not.toContain('backup_failed')
})

test("a server that starts after a killed restore removes the restore's files", async () => {
  writeFileSync(`${file.path}.restoring`, 'half')
  const { store } = await file.open({ MIN_FREE_MB: '0' })
  await store.close()

  expect(existsSync(`${file.path}.restoring`)).toBe(false)
  expect(await factsOf(file.path)).toContain('later')
})

test('a restore keeps a damaged file together with its log, and does not apply the log to the new file', async () => {
  const log = readFileSync(`${file.path}-wal`)
  writeFileSync(file.path, 'damaged '.repeat(1_000))

  const { kept } = await restore(file.path)

  expect(kept).toEqual(['', '-wal'].map((ending) => `${kept[0]}${ending}`))
  expect(Buffer.compare(readFileSync(kept[1]), log)).toBe(0)
  expect(await factsOf(file.path)).not.toContain('later')
})

test('a restore sets the log of a removed database aside, and does not apply the log to the restored database', async () => {
  const log = readFileSync(`${file.path}-wal`)
  rmSync(file.path)

  const { kept } = await restore(file.path)

  expect(kept).toEqual([expect.stringMatching(/grid\.db\.before-2026-11-22T12-00-00Z-wal$/)])
  expect(Buffer.compare(readFileSync(kept[0]), log)).toBe(0)
  expect(await factsOf(file.path)).not.toContain('later')
})

test('a grid is not copied to a path where a log remains', async () => {
  const to = join(file.folder, 'other.db')
  writeFileSync(`${to}-wal`, 'log')
  const from = { url: `file:${file.path}` }

  const copied = copyGrid({ from, to: { url: `file:${to}` }, now: () => now }, () => {})

  await expect(copied).rejects.toMatchObject({ code: 'database_not_empty' })
})

test.skipIf(process.getuid?.() !== 0)("files restored by root belong to the grid's user", async () => {
  chownSync(file.path, 12_345, 12_345)
  await restore(file.path)
  expect(statSync(file.path).uid).toBe(12_345)

  rmSync(file.path)
  chownSync(folder, 23_456, 23_456)
  await restore(file.path)
  expect(statSync(file.path).uid).toBe(23_456)
})

test('a restore replaces the target of a symbolic link, not the link', async () => {
  const link = join(file.folder, 'link.db')
  symlinkSync(file.path, link)

  const { kept } = await restore(link)

  expect(dirname(kept[0])).toBe(folder)
  expect(await factsOf(kept[0])).toContain('later')
  expect(await factsOf(file.path)).not.toContain('later')
})

test('a restore without enough space leaves the old file unchanged', async (context) => {
  const disk = smallDisk(8)
  if (!disk) return context.skip()
  try {
    const path = join(disk.folder, 'grid.db')
    for (const ending of ['', '-wal']) cpSync(file.path + ending, path + ending)
    disk.fill(50_000)

    const failed = await restore(path).catch((error) => error)

    expect(isNoSpace(failed) || isFull(failed), String(failed)).toBe(true)
    expect(readdirSync(disk.folder).filter((name) => !/^(filler|grid\.db(-wal|\.lock)?)$/.test(name))).toEqual([])
    expect(await factsOf(path)).toContain('later')
  } finally {
    disk.remove()
  }
})
