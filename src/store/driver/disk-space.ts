/**
 * The space on the disk of the local file. Below a low-water mark nothing new is accepted, so that what makes room
 * still has room. A ballast file beside the database is removed when the disk is full in spite of that.
 * See docs/delivery.md, "Full disk".
 */
import { rmSync } from 'node:fs'
import { appendFile, rm, stat, statfs, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from '../../lib/log.ts'

/** A file system, in bytes. */
export interface FileSystemSpace {
  /** What this user may still write. */
  free: number
  total: number
}

/** Whether there is space for what is sent. A remote database only tells by refusing a write. */
export interface Storage {
  /** Why nothing new is stored at the moment; undefined if it is. */
  readonly problem: string | undefined
  /** Look at the disk. Resolves to whether it has become full since the last look. */
  check(): Promise<boolean>
  /** Complete the ballast file, a piece in each call, if there is room. */
  keepBallast(): Promise<void>
}

interface DiskSpaceOptions {
  /** The local file; undefined for a remote database. */
  path: string | undefined
  /** The low-water mark, at most a tenth of the file system. 0: none. */
  minFreeBytes: number
  /** Size of the ballast file, at most a twentieth of the file system. 0: none. */
  ballastBytes: number
  log: Log
  /** Bytes inside the file that hold no data, and are written before it grows. */
  reusable(): Promise<number>
  /** Copies the log of the database into the file. Resolves to whether the whole log is there. */
  fold(): Promise<boolean>
  /** Called when there is space again after a write that failed. If it fails, there is not. */
  onSpace(): Promise<void>
  /** Replaces the look at the file system (tests). */
  readSpace?: (folder: string) => Promise<FileSystemSpace>
  /** Replaces the write to the ballast file (tests). */
  append?: (file: string, piece: Uint8Array) => Promise<void>
}

const megabyte = 2 ** 20
/** So much more than the mark must be free until messages are accepted again, so that the state does not flap. */
const recoveryFactor = 1.1
/** How much of the ballast is written at a time: a start does not write all of it at once. */
const pieceBytes = 4 * megabyte
/** After the ballast could not be written, though there is space. */
const skipsAfterFailure = 600
/** Most looks between two tries to write the ballast after a failed write: each try may write most of it. */
const maxLooksPerTry = 32

export class DiskSpace implements Storage {
  readonly #options: DiskSpaceOptions
  /** Nothing new is stored. */
  isFull = false
  /** While the file is copied beside itself: how many bytes the copy will still take. */
  copying: (() => number) | undefined
  /** A write has failed since it became full. */
  #hasFailed = false
  #space: FileSystemSpace | undefined
  #isUnreadable = false
  #hasBecomeFull = false
  /** In how many calls the ballast is left alone. */
  #skips = 0
  /** How many times in a row the ballast could not be written after a failed write, and how many looks it is left alone. */
  #failedTries = 0
  #looksLeft = 0

  constructor(options: DiskSpaceOptions) {
    this.#options = options
  }

  get problem(): string | undefined {
    if (!this.isFull) return undefined
    if (!this.#space) return 'The database refused a write because its disk is full.'
    const { free, total } = this.#space
    const ballast = this.#hasFailed ? this.#ballast() : 0
    const needed = this.#mark(total) * recoveryFactor + ballast
    if (this.#hasFailed && free >= needed) {
      return `The disk of the database refused a write, although ${inMegabytes(free)} MB of ${inMegabytes(total)} MB ` +
        `are free: perhaps it has a quota. Messages are accepted again when ${inMegabytes(ballast || megabyte)} MB ` +
        'can be written.'
    }
    return `The disk of the database has ${inMegabytes(free)} MB of ${inMegabytes(total)} MB free. ` +
      `Messages are accepted again at ${inMegabytes(needed)} MB.`
  }

  /** The database could not write. Resolves to whether space was freed, so that the same may be tried again at once. */
  async full(): Promise<boolean> {
    const { path, log } = this.#options
    if (!this.isFull) {
      this.#hasBecomeFull = true
      log.error('The disk of the database is full; nothing new is stored', { file: path })
    }
    this.isFull = true
    this.#hasFailed = true
    if (path === undefined) return false
    const hasBallast = removed(ballastOf(path))
    // Even without ballast: what is written next overwrites a log that is in the file.
    return await this.#options.fold().catch(() => false) || hasBallast
  }

  /** There is space again: `check` found it, or a remote database has written. */
  recover(): void {
    this.isFull = false
    this.#hasFailed = false
    this.#failedTries = 0
    this.#looksLeft = 0
    this.#options.log.warn('The disk of the database has space again; messages are accepted')
  }

  async check(): Promise<boolean> {
    const { path, log } = this.#options
    if (path !== undefined) {
      this.#space = await this.#read(path)
      if (!this.isFull) {
        if (this.#space && !await this.#hasSpace(this.#space, 1)) {
          this.isFull = true
          this.#hasBecomeFull = true
          log.error('The disk of the database is almost full; nothing new is stored', {
            file: path,
            freeMegabytes: inMegabytes(this.#space.free),
          })
        }
      } else if (await this.#canRecover(path)) {
        this.recover()
      }
    }
    const hasBecomeFull = this.#hasBecomeFull
    this.#hasBecomeFull = false
    return hasBecomeFull
  }

  async keepBallast(): Promise<void> {
    const { path } = this.#options
    if (path === undefined || this.isFull || !this.#space || this.#skips-- > 0) return
    const { free, total } = this.#space
    const wanted = this.#ballast()
    const file = ballastOf(path)
    const size = await stat(file).then((found) => found.size, () => 0)
    if (size > wanted) await (wanted === 0 ? rm(file, { force: true }) : truncate(file, wanted))
    const missing = wanted - size
    if (missing <= 0 || free - missing < this.#mark(total) * recoveryFactor) return
    try {
      await this.#append(file, Math.min(missing, pieceBytes))
    } catch (error) {
      this.#skips = skipsAfterFailure
      this.#options.log.warn('The ballast file could not be written', { file, error })
    }
  }

  /** How large the ballast file should be, in bytes. */
  #ballast(): number {
    const { ballastBytes } = this.#options
    return Math.floor(Math.min(ballastBytes, (this.#space?.total ?? Infinity) / 20))
  }

  #mark(total: number): number {
    return Math.min(this.#options.minFreeBytes, total / 10)
  }

  /** The log of the database does not fit into the file, so a part of the mark must be free outside it. */
  async #hasSpace({ free, total }: FileSystemSpace, factor: number): Promise<boolean> {
    const mark = this.#mark(total) * factor
    if (free >= mark) return true
    // Until a copy is there, the log is not begun anew and grows with each commit.
    return !this.copying && free >= mark / 4 && free + await this.#options.reusable() >= mark
  }

  /** Undefined if it cannot be read: then only failed writes tell that the disk is full. */
  async #read(path: string): Promise<FileSystemSpace | undefined> {
    const { log, readSpace = spaceOf } = this.#options
    try {
      const { free, total } = await readSpace(dirname(path))
      return { free: free - (this.copying?.() ?? 0), total }
    } catch (error) {
      if (!this.#isUnreadable) {
        log.warn('The free space of the disk cannot be read; there is no low-water mark and no ballast file', { error })
      }
      this.#isUnreadable = true
    }
  }

  /**
   * After a failed write only a write proves that there is space: a quota, for example, is not free space. The ballast is
   * written whole first, so that new messages never get what it has freed for releases and deletions.
   */
  async #canRecover(path: string): Promise<boolean> {
    const space = this.#space
    if (!this.#hasFailed) return !space || await this.#hasSpace(space, recoveryFactor)
    const free = space && { free: space.free - this.#ballast(), total: space.total }
    if (free && !await this.#hasSpace(free, recoveryFactor)) return false
    if (this.#looksLeft-- > 0) return false
    if (await this.#canWrite(path)) return true
    this.#looksLeft = Math.min(2 ** this.#failedTries++, maxLooksPerTry) - 1
    return false
  }

  async #canWrite(path: string): Promise<boolean> {
    const file = ballastOf(path)
    const wanted = this.#ballast()
    const sizeOf = () => stat(file).then((found) => found.size, () => 0)
    try {
      await this.#append(file, Math.max(wanted || megabyte, await sizeOf()) - await sizeOf())
      await this.#options.onSpace()
      // A write that failed meanwhile has removed it.
      if (await sizeOf() < wanted) return false
      if (wanted === 0) await rm(file, { force: true })
      return true
    } catch {
      await rm(file, { force: true })
      return false
    }
  }

  /** Fails if there is no space; then the file is removed. */
  async #append(file: string, bytes: number): Promise<void> {
    const { append = appendTo } = this.#options
    // Random, because a file system may compress what repeats.
    const piece = randomBytes(Math.min(bytes, megabyte))
    try {
      for (let left = bytes; left > 0; left -= piece.length) {
        await append(file, piece.subarray(0, left))
      }
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
  }
}

function ballastOf(path: string): string {
  return `${path}.ballast`
}

async function appendTo(file: string, piece: Uint8Array): Promise<void> {
  await appendFile(file, piece, { mode: 0o600 })
}

/** Whether there was a file to remove. */
function removed(file: string): boolean {
  try {
    rmSync(file)
    return true
  } catch {
    return false
  }
}

/** The space of the file system of a folder. */
export async function spaceOf(folder: string): Promise<FileSystemSpace> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, total: blocks * bsize }
}

/** In pieces: the system gives at most 64 KiB at once. */
function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count)
  for (let at = 0; at < count; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536))
  return bytes
}

function inMegabytes(bytes: number): number {
  return Math.round(bytes / megabyte * 10) / 10
}
