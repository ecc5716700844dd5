/** Replaces the current database with the database in a backup. */
import type { Client } from '@libsql/client'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createKeyRing, isKeyRing, wrongKeys } from '../../lib/key-ring.ts'
import type { FileKey } from './sealed-file.ts'
import { isFull } from '../driver/database-errors.ts'
import { lockFile } from '../driver/file-lock.ts'
import { fileBehind, giveTo, readStoredKeyRing, restoringFile } from '../driver/local-file.ts'
import { snapshotOf } from '../driver/snapshot.ts'
import { planMigration } from '../migrate.ts'
import { StartError, wrongKeyRing } from '../start-error.ts'
import { openBackup } from './backup-file.ts'
import { type Manifest, withDatabase } from './local-copy.ts'
import { keyChecks } from '../global/key-checks.ts'
import { Db } from '../sql.ts'
import { type DatabaseAddress, fill } from './fill.ts'
import { logEndings, putNew, sync, temporaryFolder } from './files.ts'

/** Skipped, so that new messages get numbers above all numbers that clients may have seen after the backup. */
const skippedNumbers = 1_000_000

export interface Restored {
  manifest: Manifest
  kept: string[]
}

interface RestoreOptions {
  backup: string
  key: FileKey | undefined
  now: number
  /** The key ring from the settings, in the format of `GRID_KEYS`. */
  gridKeys: string | undefined
  withoutKeys: boolean
}

/**
 * Restores a backup into a local file. The backup is first opened and checked next to the file, which stays untouched
 * until the new file replaces it. Fails with `database_in_use` while a server runs, with a `SealedFileError`, and with
 * the `StartError` that a start on the backup would throw.
 */
export async function restoreFile(options: RestoreOptions & { path: string }): Promise<Restored> {
  const { backup, key, now } = options
  // Resolves links, because a link would still point to the old file, and its folder may be on another disk.
  const path = fileBehind(options.path)
  const lock = await lockFile(path)
  const restored = restoringFile(path)
  try {
    const isNew = !existsSync(path)
    const isWhole = !isNew && await canBeFolded(path)
    for (const ending of ['', ...logEndings]) rmSync(`${restored}${ending}`, { force: true })
    const manifest = await openBackup(backup, key, restored)
    await requireKnownSchema(restored, backup, manifest)
    const ring = options.gridKeys ?? readStoredKeyRing(options.path)
    await withDatabase(restored, async (client) => {
      await requireKeys(options, ring, `${options.path}.keys`, manifest, client)
      await beginNewHistory(client)
    })
    await sync(restored)
    giveTo(restored, isNew ? dirname(path) : path)
    return { manifest, kept: await replace(path, restored, { isWhole, now }) }
  } finally {
    rmSync(restored, { force: true })
    await lock.release()
  }
}

/** Restores a backup into an empty remote database. Fails with `database_not_empty`, or like `restoreFile`. */
export async function restoreRemote(
  { address, ...options }: RestoreOptions & { address: DatabaseAddress },
): Promise<Restored> {
  return await withOpened(options, async (opened, manifest) => {
    await withDatabase(opened, async (client) => {
      await requireKeys(options, options.gridKeys, undefined, manifest, client)
      await beginNewHistory(client)
      await fill(snapshotOf(client), address)
    })
    return { manifest, kept: [] }
  })
}

/** Checks a backup like a restore does, and changes nothing. Fails with a `SealedFileError` or a `StartError`. */
export function verifyBackup(options: Pick<RestoreOptions, 'backup' | 'key' | 'now'>): Promise<Manifest> {
  return withOpened(options, (_, manifest) => Promise.resolve(manifest))
}

async function withOpened<Result>(
  { backup, key, now }: Pick<RestoreOptions, 'backup' | 'key' | 'now'>,
  work: (opened: string, manifest: Manifest) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(await temporaryFolder('restore', now))
  try {
    const opened = join(folder, 'grid.db')
    const manifest = await openBackup(backup, key, opened)
    await requireKnownSchema(opened, backup, manifest)
    return await work(opened, manifest)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Checkpoints the log into the database file. Resolves to false if the file is damaged. */
async function canBeFolded(path: string): Promise<boolean> {
  try {
    await withDatabase(path, (client) => client.execute('PRAGMA journal_mode = DELETE'))
    return true
  } catch (error) {
    if (isFull(error)) throw error
    return false
  }
}

/** Sets a new epoch, so that older cursors are refused, and skips the numbers that clients may have seen. */
async function beginNewHistory(client: Client): Promise<void> {
  await client.execute("DELETE FROM store_facts WHERE key IN ('epoch', 'backup_claimed', 'backup_failed')")
  await client.execute({
    sql: "INSERT INTO store_facts (key, value) VALUES ('epoch', ?)",
    args: [crypto.randomUUID().slice(0, 8)],
  })
  await client.execute({ sql: 'UPDATE sqlite_sequence SET seq = seq + ?', args: [skippedNumbers] })
}

/**
 * Fails with the `StartError` that a start on the opened database would throw, such as `schema_newer` or
 * `migration_changed`.
 */
async function requireKnownSchema(opened: string, backup: string, { program }: Manifest): Promise<void> {
  await withDatabase(opened, (client) => planMigration(client, `${backup} (agent-grid ${program})`))
}

/**
 * A backup contains no key ring. Fails with a `StartError` if stored tokens could not be decrypted. `file` is the path
 * of the key ring, for a local file.
 */
async function requireKeys(
  { withoutKeys, backup, gridKeys }: RestoreOptions,
  ring: string | undefined,
  file: string | undefined,
  { keys }: Manifest,
  client: Client,
): Promise<void> {
  if (withoutKeys) return
  const keyRing = createKeyRing(ring !== undefined && isKeyRing(ring) ? ring : undefined)
  const wrong = await wrongKeys(keyRing, await keyChecks(new Db(client)).all())
  if (wrong.length > 0) throw wrongKeyRing(wrong, gridKeys === undefined ? file : undefined)
  const missing = keys.filter((id) => !keyRing.ids.includes(id))
  if (missing.length === 0) return
  throw new StartError(
    'key_ring_missing',
    `Tokens in ${backup} are encrypted with ${missing.length === 1 ? 'the key' : 'the keys'} ${missing.join(', ')}, ` +
      `which this grid does not have: a backup has no keys. Put the key ring of the grid into ${
        file === undefined ? '' : `${file} or `
      }GRID_KEYS ` +
      'first; or restore with --without-keys, and enter the tokens again.',
  )
}

/**
 * Renames the old file, and gives its name to the new file. The log of a removed file could remain, and SQLite would
 * apply it to the new file. Resolves to the paths of the old files.
 */
async function replace(
  path: string,
  restored: string,
  { isWhole, now }: { isWhole: boolean; now: number },
): Promise<string[]> {
  const name = keptName(path, now)
  const logs = logEndings.filter((ending) => existsSync(`${path}${ending}`))
  if (isWhole) { for (const ending of logs) rmSync(`${path}${ending}`) }
  const kept = ['', ...isWhole ? [] : logs].filter((ending) => existsSync(`${path}${ending}`))
  // The database file is renamed first, because a log must never be next to another file. Until the new file has its
  // name, a start finds no file.
  for (const ending of kept) renameSync(`${path}${ending}`, `${name}${ending}`)
  await putNew(path, restored)
  return kept.map((ending) => `${name}${ending}`)
}

/** The new path of the old file. It ends in a number if another restore has used the name. */
function keptName(path: string, now: number): string {
  const name = `${path}.before-${new Date(now).toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}`
  const names = [name, ...Array.from({ length: 100 }, (_, n) => `${name}-${n + 2}`)]
  return names.find((candidate) => ['', ...logEndings].every((ending) => !existsSync(`${candidate}${ending}`)))!
}
