/**
 * Free space on the local file's disk. Below a low-water mark, new data is refused, so that there is room to delete
 * data.
 */
import { rm, statfs, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from '../../lib/log.ts'

export interface FileSystemSpace {
  free: number
  total: number
}

interface DiskSpaceOptions {
  path: string | undefined
  /** The low-water mark, at most a tenth of the file system. 0: no mark. */
  minFreeBytes: number
  log: Log
  /** Returns the unused bytes inside the file, which are filled before the file grows. */
  reusable(): Promise<number>
  /** Called when there is space again after a failed write. If it throws, there is still no space. */
  onSpace(): Promise<void>
  /** Replaces the file system check (tests). */
  readSpace?: (folder: string) => Promise<FileSystemSpace>
  /** Replaces the write that proves free space (tests). */
  write?: (file: string, bytes: Uint8Array) => Promise<void>
}

const megabyte = 2 ** 20
/** Messages are accepted again when the free space exceeds the mark by this factor, so that the state does not flap. */
const recoveryFactor = 1.1
/** The maximum number of random bytes that the system returns at once. */
const probeBytes = 65_536

/** Tracks whether there is space for a send. A remote database shows a lack of space only by refusing a write. */
export class DiskSpace {
  readonly #options: DiskSpaceOptions
  isFull = false
  /** How many bytes a running copy on the same disk will still take. */
  copying: (() => number) | undefined
  #hasFailed = false
  #space: FileSystemSpace | undefined
  #isUnreadable = false
  #hasBecomeFull = false

  constructor(options: DiskSpaceOptions) {
    this.#options = options
  }

  /** Whether twice the mark stays free after a file of this size, so that files are refused before messages. */
  hasRoomFor(bytes: number): boolean {
    return !this.#space || this.#space.free - bytes >= 2 * this.#mark(this.#space.total)
  }

  get problem(): string | undefined {
    if (!this.isFull) return undefined
    if (!this.#space) return 'The database refused a write because its disk is full.'
    const { free, total } = this.#space
    const needed = this.#mark(total) * recoveryFactor
    if (this.#hasFailed && free >= needed) {
      return `The disk of the database refused a write, although ${inMegabytes(free)} MB of ${inMegabytes(total)} MB ` +
        'are free: it may have a quota. Messages are accepted again once writes succeed.'
    }
    return `The disk of the database has ${inMegabytes(free)} MB of ${inMegabytes(total)} MB free. ` +
      `Messages are accepted again at ${inMegabytes(needed)} MB.`
  }

  full(): void {
    const { path, log } = this.#options
    if (!this.isFull) {
      this.#hasBecomeFull = true
      log.error('The disk of the database is full; nothing new is stored', { file: path })
    }
    this.isFull = true
    this.#hasFailed = true
  }

  /** Accepts messages again: `check` found space, or a remote database accepted a write. */
  recover(): void {
    this.isFull = false
    this.#hasFailed = false
    this.#options.log.warn('The disk of the database has space again; messages are accepted')
  }

  /** Checks the disk. Resolves to whether it has become full since the last check. */
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

  #mark(total: number): number {
    return Math.min(this.#options.minFreeBytes, total / 10)
  }

  /** Unused pages of the file cannot hold the log, so part of the mark must be free outside the file. */
  async #hasSpace({ free, total }: FileSystemSpace, factor: number): Promise<boolean> {
    const mark = this.#mark(total) * factor
    if (free >= mark) return true
    // While a copy is running, the log does not restart and grows with each commit.
    return !this.copying && free >= mark / 4 && free + await this.#options.reusable() >= mark
  }

  /** Undefined if free space cannot be determined. Then only failed writes show that the disk is full. */
  async #read(path: string): Promise<FileSystemSpace | undefined> {
    const { log, readSpace = spaceOf } = this.#options
    try {
      const { free, total } = await readSpace(dirname(path))
      return { free: free - (this.copying?.() ?? 0), total }
    } catch (error) {
      if (!this.#isUnreadable) {
        log.warn('The free space of the disk cannot be read; there is no low-water mark', { error })
      }
      this.#isUnreadable = true
    }
  }

  /** After a failed write, only a write proves free space. A quota, for example, does not show in the free space. */
  async #canRecover(path: string): Promise<boolean> {
    if (this.#space && !await this.#hasSpace(this.#space, recoveryFactor)) return false
    return !this.#hasFailed || await this.#canWrite(path)
  }

  async #canWrite(path: string): Promise<boolean> {
    const { write = writeFile, onSpace } = this.#options
    const file = `${path}.probe`
    try {
      // Random, because a file system may compress repetitive data.
      await write(file, crypto.getRandomValues(new Uint8Array(probeBytes)))
      await onSpace()
      return true
    } catch {
      return false
    } finally {
      await rm(file, { force: true })
    }
  }
}

export async function spaceOf(folder: string): Promise<FileSystemSpace> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, total: blocks * bsize }
}

function inMegabytes(bytes: number): number {
  return Math.round(bytes / megabyte * 10) / 10
}
