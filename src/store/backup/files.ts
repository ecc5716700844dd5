/** Writes files, moves finished files into place, and manages the folder of scheduled backups. */
import { existsSync, renameSync, statSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { GridError } from '../../errors.ts'
import { day } from '../../lib/time.ts'
import { type FileSystemSpace, spaceOf } from '../driver/disk-space.ts'
import { databaseInUse } from '../driver/local-file.ts'
import { StartError } from '../start-error.ts'

const megabyte = 2 ** 20

/** Fails with `storage_full` unless `bytes` fit and leave `minFreeBytes`, or a tenth of the disk if less, free. */
export async function requireSpace(
  folder: string,
  bytes: number,
  minFreeBytes: number,
  readSpace: (folder: string) => Promise<FileSystemSpace> = spaceOf,
): Promise<void> {
  const space = await readSpace(folder).catch(() => undefined)
  const needed = space && bytes + Math.min(minFreeBytes, space.total / 10)
  if (needed === undefined || space!.free >= needed) return
  throw new GridError(
    'storage_full',
    `This needs ${Math.ceil(needed / megabyte)} MB in ${folder}, and ${Math.floor(space!.free / megabyte)} MB are ` +
      'free.',
  )
}

/** Returns the name prefix of temporary folders, for `mkdtemp`. Removes old folders left by a crash. */
export async function temporaryFolder(purpose: 'copy' | 'restore', now: number): Promise<string> {
  const prefix = `agent-grid-${purpose}-`
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith(prefix)) continue
    const folder = join(tmpdir(), name)
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: now }))
    // Newer folders may be in use by other processes. Folders of other users cannot be removed.
    if (now - mtimeMs > day) await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
  return join(tmpdir(), prefix)
}

/** The endings of the files that SQLite reads together with the database file next to them. */
export const logEndings = ['-wal', '-journal']

/**
 * Fails with a `StartError` if a log exists where a new file will be placed. SQLite would apply the log to that file.
 */
export function requireNoLog(path: string): void {
  const log = logEndings.map((ending) => `${path}${ending}`).find((file) => existsSync(file))
  if (log === undefined) return
  throw new StartError(
    'database_not_empty',
    `${log} is the log of another database file, and would be written into the new one. Move it to the file that it ` +
      'belongs to, or remove it.',
  )
}

/** Renames a new file to its final path. The caller holds the lock for that path. */
export async function putNew(path: string, file: string): Promise<void> {
  requireNoLog(path)
  if (existsSync(path)) throw databaseInUse(path)
  renameSync(file, path)
  await sync(dirname(path)).catch(() => {})
}

export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+').catch(() => open(path, 'r'))
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Reads up to `length` bytes from `position`. Returns fewer only at the end of the file. */
export async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

export async function writeAt(file: FileHandle, position: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten
  }
}

/** The name contains the time the backup began, in UTC. */
const namePattern = /^grid-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/

/** Whether a path can be a folder: it is one, does not exist yet, or is inaccessible to this process. */
export function mayBeFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return true
  }
}

/** Creates the folder. Creates and removes a file in it, to check that it is writable. */
export async function requireWritable(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `.writable-${crypto.randomUUID()}`)
  await (await open(file, 'wx', 0o600)).close()
  await rm(file, { force: true })
}

interface BackupInFolder {
  path: string
  at: number
}

/** The path of a backup that begins at `at`. Creates the folder. */
export async function pathInFolder(folder: string, at: number): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const time = new Date(at).toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')
  return join(folder, `grid-${time}.backup`)
}

/** The scheduled backups in a folder, newest first; none if the folder does not exist. */
export async function backupsIn(folder: string): Promise<BackupInFolder[]> {
  const names = await readdir(folder).catch(() => [] as string[])
  return names.flatMap((name) => {
    const [, ...parts] = name.match(namePattern) ?? []
    if (parts.length === 0) return []
    const [year, month, ...rest] = parts.map(Number)
    return [{ path: join(folder, name), at: Date.UTC(year, month - 1, ...rest as [number, number, number, number]) }]
  }).sort((a, b) => b.at - a.at)
}

/** Removes all but the newest `keep` backups. Always keeps `made`, even if a wrong clock gave it an old name. */
export async function removeOldBackups(folder: string, keep: number, made: string): Promise<void> {
  for (const { path } of (await backupsIn(folder)).slice(keep)) {
    if (path !== made) await rm(path, { force: true })
  }
}
