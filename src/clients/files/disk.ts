/** Reads and replaces other programs' files on disk. Links, permissions and owners are preserved. */
import { randomUUID } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import process from 'node:process'
import { FileRefusedError } from './written-file.ts'

export const privateMode = 0o600
const commonMode = 0o644

/** A file's text; undefined if it is missing. Fails with `FileRefusedError` for a binary file or a dangling link. */
export function readText(path: string): string | undefined {
  if (!existsSync(path)) {
    if (lstatSync(path, { throwIfNoEntry: false })) {
      throw new FileRefusedError(path, 'is a link to a file that does not exist. Create that file, or remove the link.')
    }
    return undefined
  }
  if (!statSync(path).isFile()) throw new FileRefusedError(path, 'is not a file.')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch (error) {
    if (error instanceof TypeError) throw new FileRefusedError(path, 'is not UTF-8 text. Nothing was changed.')
    throw new FileRefusedError(path, `cannot be read: ${(error as Error).message}`)
  }
}

/** A file's permissions, if other users may access the file; otherwise undefined. Always undefined on Windows. */
export function openMode(path: string): number | undefined {
  if (process.platform === 'win32' || !existsSync(path)) return undefined
  const mode = statSync(path).mode & 0o777
  return (mode & 0o077) === 0 ? undefined : mode
}

export function hasOtherMode(path: string, mode: number): boolean {
  return process.platform !== 'win32' && existsSync(path) && (statSync(path).mode & 0o777) !== mode
}

/** Fails with `FileRefusedError` if the file or its folder is not writable. Refuses a read-only file even to root. */
export function checkWritable(path: string): void {
  const target = existsSync(path) ? realpathSync(path) : path
  if (existsSync(target) && (statSync(target).mode & 0o200) === 0) {
    throw new FileRefusedError(path, 'is read-only. Nothing was changed; make it writable first.')
  }
  let folder = dirname(target)
  while (!existsSync(folder)) folder = dirname(folder)
  try {
    if (!statSync(folder).isDirectory()) throw new FileRefusedError(folder, 'is not a folder.')
    accessSync(folder, constants.W_OK)
    if ((statSync(folder).mode & 0o200) === 0) throw new Error()
  } catch (error) {
    if (error instanceof FileRefusedError) throw error
    throw new FileRefusedError(path, `cannot be written: the folder ${folder} is read-only. Nothing was changed.`)
  }
}

/**
 * Fails with `FileRefusedError` if a link leads out of the project. A project may belong to someone else, whose links
 * could point to any of the user's files.
 */
export function checkInside(path: string, project: string): void {
  if (!path.startsWith(join(project, sep)) || !existsSync(project)) return
  let there = path
  while (!existsSync(there)) there = dirname(there)
  const [target, inside] = [realpathSync(there), realpathSync(project)]
  if (target !== inside && !target.startsWith(join(inside, sep))) {
    throw new FileRefusedError(path, `is a link that leads out of the project, to ${target}. Remove the link first.`)
  }
}

export function missingFolders(path: string): string[] {
  const missing: string[] = []
  for (let folder = dirname(path); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder)
  return missing
}

export function removeFolders(folders: readonly string[]): void {
  for (const folder of folders.toReversed()) {
    try {
      rmdirSync(folder)
    } catch {
      // The folder is not empty, or no longer exists.
    }
  }
}

/**
 * Replaces a file's text atomically, or creates the file. `mode` sets its permissions. By default an existing file
 * keeps its permissions, and a new one is readable by all.
 */
export function writeText(path: string, text: string, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true })
  const target = existsSync(path) ? realpathSync(path) : path
  const old = statSync(target, { throwIfNoEntry: false })
  const permissions = mode ?? (old === undefined ? commonMode : old.mode & 0o7777)
  // A file with other names (hard links) is overwritten. Replacing it would leave the old text under those names.
  if (old !== undefined && old.nlink > 1) {
    writeFileSync(target, text)
    return chmodSync(target, permissions)
  }
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.agent-grid`)
  try {
    writeFileSync(temporary, text, { mode: privateMode, flush: true, flag: 'wx' })
    keepOwner(temporary, old)
    chmodSync(temporary, permissions)
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

export function removeFile(path: string): void {
  rmSync(path, { force: true })
}

function keepOwner(path: string, old: Stats | undefined): void {
  if (old === undefined || process.platform === 'win32') return
  const { uid, gid } = statSync(path)
  if (uid !== old.uid || gid !== old.gid) chownSync(path, old.uid, old.gid)
}
