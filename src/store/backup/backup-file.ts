/** Backups: a verified copy of the database with its manifest, in a sealed file. */
import { mkdtemp, open, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FileSystemSpace } from '../driver/disk-space.ts'
import { runOnThread } from '../../lib/run-on-thread.ts'
import { type FileKey, readSealedFile, removeUnfinished, SealedFileError, writeSealedFile } from './sealed-file.ts'
import { version } from '../../lib/version.ts'
import { readAt, requireSpace, writeAt } from './files.ts'
import { checkCopy, difference, type Manifest } from './local-copy.ts'

export interface NewBackup {
  /** The path of the new backup. No file with this name may exist yet. */
  path: string
  key: FileKey
  madeAt: number
  copyTo(path: string): Promise<void>
  /** A folder for the unencrypted copy, which is as large as the database. */
  workFolder: string
  thread: boolean
  /** Minimum free space, in bytes, on the disk of the copy if the backup is written to the same disk. */
  minFreeBytes: number
  readSpace?: (folder: string) => Promise<FileSystemSpace>
}

const pieceBytes = 2 ** 20

/** Makes a backup: copy, check, count, seal. Resolves to its manifest and length once it is on disk. */
export async function makeBackup(backup: NewBackup): Promise<{ manifest: Manifest; bytes: number }> {
  if (await stat(backup.path).catch(() => undefined)) throw new BackupExistsError(backup.path)
  const folder = await mkdtemp(backup.workFolder)
  try {
    const copy = join(folder, 'grid.db')
    await backup.copyTo(copy)
    return await sealCopy(copy, backup)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes a backup of an existing copy. Resolves like `makeBackup`. */
export async function sealCopy(
  copy: string,
  { path, key, madeAt, thread, minFreeBytes, readSpace }: Omit<NewBackup, 'copyTo' | 'workFolder'>,
): Promise<{ manifest: Manifest; bytes: number }> {
  const { size, dev } = await stat(copy)
  const folder = dirname(path)
  const isSameDisk = await stat(folder).then((found) => found.dev === dev, () => false)
  await requireSpace(folder, size, isSameDisk ? minFreeBytes : 0, readSpace)
  const input = { path: copy }
  const content = await (thread ? runOnThread('checkCopy', checkCopy, input) : checkCopy(input))
  // Ignores errors, because other users' files, which cannot be removed, must not prevent a backup.
  await removeUnfinished(folder, madeAt).catch(() => {})
  const manifest: Manifest = { program: version, madeAt: new Date(madeAt).toISOString(), ...content }
  try {
    await writeSealedFile(path, key, contentOf(manifest, copy))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? new BackupExistsError(path) : error
  }
  return { manifest, bytes: (await stat(path)).size }
}

export class BackupExistsError extends Error {
  readonly code = 'backup_exists'

  constructor(path: string) {
    super(`${path} already exists. A backup never overwrites a file; give another name, or remove the file.`)
    this.name = 'BackupExistsError'
  }
}

/**
 * Writes a backup's database to `target`. Checks that the file is complete and intact, and that its content matches the
 * manifest. If it fails with a `SealedFileError`, there is no file at `target`.
 */
export async function openBackup(
  path: string,
  key: FileKey | undefined,
  target: string,
): Promise<Manifest> {
  try {
    const manifest = await unpack(path, key, target)
    const problem = await checkCopy({ path: target })
      .then((found) => difference(manifest, found), (error: Error) => error.message)
    if (problem) throw new SealedFileError('backup_damaged', `${path} is not what its manifest says: ${problem}.`)
    return manifest
  } catch (error) {
    await rm(target, { force: true })
    throw error
  }
}

async function* contentOf(manifest: Manifest, path: string): AsyncIterable<Uint8Array<ArrayBuffer>> {
  const text = new TextEncoder().encode(JSON.stringify(manifest))
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, text.length)
  yield length
  yield text
  const file = await open(path, 'r')
  try {
    for (let at = 0;; at += pieceBytes) {
      const piece = await readAt(file, at, pieceBytes)
      yield piece
      if (piece.length < pieceBytes) return
    }
  } finally {
    await file.close()
  }
}

async function unpack(path: string, key: FileKey | undefined, target: string): Promise<Manifest> {
  const file = await open(target, 'wx', 0o600)
  try {
    let manifest: Manifest | undefined
    let written = 0
    for await (const part of readSealedFile(path, key)) {
      let rest = part
      if (!manifest) {
        const end = 4 + (part.length < 4 ? Infinity : new DataView(part.buffer, part.byteOffset).getUint32(0))
        // The manifest of every backup fits into the first chunk.
        if (part.length < end) throw noManifest(path)
        manifest = parsed(part.subarray(4, end), path)
        rest = part.subarray(end)
      }
      await writeAt(file, written, rest)
      written += rest.length
    }
    if (!manifest) throw noManifest(path)
    await file.sync()
    return manifest
  } finally {
    await file.close()
  }
}

function parsed(text: Uint8Array, path: string): Manifest {
  try {
    return JSON.parse(new TextDecoder().decode(text)) as Manifest
  } catch {
    throw noManifest(path)
  }
}

function noManifest(path: string): SealedFileError {
  return new SealedFileError('backup_damaged', `${path} has no manifest.`)
}
