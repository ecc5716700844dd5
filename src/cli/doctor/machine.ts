/** What this machine tells of the disk, the folder and the files of a local database. */
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'

export interface FileFacts {
  path: string
  /** The permission bits. */
  mode: number
  uid: number
  /** Whether this user can read and write it. */
  isAccessible: boolean
}

export interface MachineFacts {
  folder: FileFacts
  /** The database and what is beside it. */
  files: FileFacts[]
  /** The user of this process; undefined on Windows, and on Deno, which is not allowed to ask. */
  uid: number | undefined
  /** The type of the file system, as Linux numbers them; undefined if the system does not tell. */
  fileSystemType: number | undefined
  /** In bytes; undefined if the system does not tell. */
  space: { free: number; total: number } | undefined
  /** The median time of an fsync in the folder, in milliseconds; undefined if nothing can be written there. */
  fsyncMs: number | undefined
  /** The copies from before a migration, and how large they are together. */
  copies: { files: string[]; bytes: number }
  /** The text of the file with the key ring; undefined if there is none, null if it cannot be read. */
  keyRing: string | undefined | null
}

const fsyncs = 15
const pageBytes = 4_096

/** Look at the folder of a database file, which exists. Writes and removes one small file there. */
export function readMachine(path: string): MachineFacts {
  const folder = dirname(path)
  const beside = readdirSync(folder).filter((name) => name.startsWith(basename(path))).map((name) => join(folder, name))
  const fsyncMs = measureFsync(folder)
  const copies = beside.filter((file) => /\.schema-\d+$/.test(file))
  return {
    folder: fileFacts(folder, fsyncMs !== undefined),
    files: beside.map((file) => fileFacts(file, canOpen(file))),
    uid: userId(),
    ...fileSystem(folder),
    fsyncMs,
    copies: { files: copies, bytes: copies.reduce((sum, file) => sum + statSync(file).size, 0) },
    keyRing: readRing(`${path}.keys`),
  }
}

function userId(): number | undefined {
  try {
    return process.getuid?.()
  } catch {
    return undefined
  }
}

function fileFacts(path: string, isAccessible: boolean): FileFacts {
  const { mode, uid } = statSync(path)
  return { path, mode: mode & 0o777, uid, isAccessible }
}

/** Whether this user can open it. No connection of this process has locks yet that this would drop. */
function canOpen(path: string): boolean {
  try {
    closeSync(openSync(path, 'r+'))
    return true
  } catch {
    return false
  }
}

function fileSystem(folder: string): Pick<MachineFacts, 'fileSystemType' | 'space'> {
  try {
    const { type, bavail, blocks, bsize } = statfsSync(folder)
    return {
      fileSystemType: process.platform === 'linux' && type !== 0 ? type >>> 0 : undefined,
      space: { free: bavail * bsize, total: blocks * bsize },
    }
  } catch {
    return { fileSystemType: undefined, space: undefined }
  }
}

/** The median, because other programs use the disk too. */
function measureFsync(folder: string): number | undefined {
  const path = join(folder, `.doctor-${process.pid}`)
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      const page = new Uint8Array(pageBytes).fill(1)
      const times = Array.from({ length: fsyncs }, () => {
        writeSync(file, page)
        const startedAt = performance.now()
        fsyncSync(file)
        return performance.now() - startedAt
      })
      return times.sort((a, b) => a - b)[Math.floor(fsyncs / 2)]
    } finally {
      closeSync(file)
      rmSync(path)
    }
  } catch {
    return undefined
  }
}

function readRing(path: string): string | undefined | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null
  }
}
