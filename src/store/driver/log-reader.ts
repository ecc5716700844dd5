/**
 * Reads the log (WAL) of a local file while SQLite appends to it, and keeps the pages of every commit, so that a copy of
 * the file that took a while can be brought to one commit. The format: https://www.sqlite.org/fileformat2.html, "The
 * Write-Ahead Log". The log has no locks, so it may be opened and closed; the database file may not.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { writeAt } from './file-pieces.ts'

const headerBytes = 32
const frameHeaderBytes = 24
/**
 * About so much of the log is read at once. It was just written and is in memory, so reading it at once takes less time
 * than another thread would.
 */
const pieceBytes = 2 ** 19

/** The log was begun anew before it was read to its end, so commits are missing. */
export class LogLostError extends Error {
  constructor() {
    super('The log of the database was begun anew during the copy')
    this.name = 'LogLostError'
  }
}

/** Where the reader is in the log: behind the last commit that it has kept. */
interface Position {
  /** Two numbers that SQLite changes whenever it begins the log anew. */
  salt: [number, number]
  offset: number
  sums: [number, number]
  littleEndian: boolean
}

export class LogReader {
  readonly pageBytes: number
  readonly #path: string
  /** Descriptors of the log, once there is one, and of the file for the pages. */
  #log: number | undefined
  readonly #pages: number
  #position: Position | undefined
  /** All commits in the log are in the database file, so the next commit begins the log anew. */
  #isFolded = false
  /**
   * Where the newest version of each page is in the file of pages, by the number of the page. A page has one place, so
   * that file gets no longer than the database, whatever is written during the copy.
   */
  readonly #places = new Map<number, number>()
  /** How many pages the database has after the last commit; undefined if nothing was committed. */
  #size: number | undefined

  /** The pages are kept in a new file, `pagesPath`. */
  constructor(databasePath: string, pageBytes: number, pagesPath: string) {
    this.#path = `${databasePath}-wal`
    this.pageBytes = pageBytes
    this.#pages = openSync(pagesPath, 'wx+', 0o600)
  }

  /** How many bytes of the log are read that are not in the database file. */
  get readBytes(): number {
    return this.#isFolded ? 0 : this.#position?.offset ?? 0
  }

  /**
   * The log is in the database file now, all `pages` of it. Fails with `LogLostError` if some of them were not read: the
   * next commit writes over them.
   */
  folded(pages: number): void {
    const { offset } = this.#position ?? { offset: headerBytes }
    if (offset !== headerBytes + pages * (frameHeaderBytes + this.pageBytes)) throw new LogLostError()
    this.#isFolded = true
  }

  /** The log is whole in the database file, and the copy begins: nothing that is in the log now is needed. */
  begin(): void {
    this.#position = this.#readHeader()
    this.#isFolded = true
  }

  /** Keep all commits since the last call. Fails with `LogLostError`. */
  readOn(): void {
    while (this.readPiece());
  }

  /** Keep some of them. Returns whether there may be more. */
  readPiece(): boolean {
    const start = this.#readHeader()
    // Before the first commit there is no log.
    if (!start) return false
    const isSame = this.#position?.salt.join() === start.salt.join()
    if (this.#isFolded && isSame) return false
    // The first number counts how often the log was begun anew.
    const isNext = this.#isFolded && start.salt[0] === ((this.#position?.salt[0] ?? 0) + 1) >>> 0
    if (this.#position && !isSame && !isNext) throw new LogLostError()
    if (!isSame) this.#position = start
    this.#isFolded = false
    return this.#readFrames()
  }

  /** Write the kept pages into the copy of the file, which then is the database as of the last commit. */
  async applyTo(copy: FileHandle): Promise<void> {
    if (this.#size === undefined) return
    const numbers = [...this.#places.keys()]
    const perPiece = Math.ceil(pieceBytes / this.pageBytes)
    for (let first = 0; first < numbers.length; first += perPiece) {
      const some = numbers.slice(first, first + perPiece)
      const piece = readPiece(this.#pages, first * this.pageBytes, some.length * this.pageBytes)
      for (const [i, number] of some.entries()) {
        const page = piece.subarray(i * this.pageBytes, (i + 1) * this.pageBytes)
        await writeAt(copy, (number - 1) * this.pageBytes, page)
      }
    }
    await copy.truncate(this.#size * this.pageBytes)
  }

  close(): void {
    if (this.#log !== undefined) closeSync(this.#log)
    closeSync(this.#pages)
  }

  /** Undefined if there is no log yet, or it has no header. */
  #readHeader(): Position | undefined {
    try {
      this.#log ??= openSync(this.#path, 'r')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    const header = readPiece(this.#log, 0, headerBytes)
    if (header.length < headerBytes) return undefined
    const fields = view(header)
    const littleEndian = fields.getUint32(0) === 0x377f0682
    const sums = addTo([0, 0], header.subarray(0, 24), littleEndian)
    if (sums[0] !== fields.getUint32(24) || sums[1] !== fields.getUint32(28)) return undefined
    return { salt: [fields.getUint32(16), fields.getUint32(20)], offset: headerBytes, sums, littleEndian }
  }

  /** Keeps frames of a piece up to its last commit. What comes behind it is read again, in a larger piece if need be. */
  #readFrames(): boolean {
    const { salt, littleEndian, offset: start } = this.#position!
    const frameBytes = frameHeaderBytes + this.pageBytes
    const { size: logBytes } = fstatSync(this.#log!)
    for (let frames = Math.ceil(pieceBytes / frameBytes);; frames *= 4) {
      const piece = readPiece(this.#log!, start, frames * frameBytes)
      const fields = view(piece)
      let { offset, sums } = this.#position!
      const commits = new Map<number, Uint8Array>()
      const unfinished = new Map<number, Uint8Array>()
      let isValid = true
      for (let at = 0; at + frameBytes <= piece.length; at += frameBytes) {
        // Frames that were written before the log was begun anew, or by a unit that was rolled back, do not fit.
        isValid = fields.getUint32(at + 8) === salt[0] && fields.getUint32(at + 12) === salt[1]
        if (!isValid) break
        const page = piece.subarray(at + frameHeaderBytes, at + frameBytes)
        sums = addTo(addTo(sums, piece.subarray(at, at + 8), littleEndian), page, littleEndian)
        isValid = sums[0] === fields.getUint32(at + 16) && sums[1] === fields.getUint32(at + 20)
        if (!isValid) break
        offset += frameBytes
        unfinished.set(fields.getUint32(at), page)
        const size = fields.getUint32(at + 4)
        if (size === 0) continue
        for (const [number, newest] of unfinished) commits.set(number, newest)
        unfinished.clear()
        this.#position = { salt, offset, sums, littleEndian }
        this.#size = size
      }
      const isWhole = isValid && piece.length === frames * frameBytes
      if (commits.size > 0) {
        this.#keep(commits)
        return isWhole
      }
      // One commit may be longer than a piece.
      if (!isWhole || start + piece.length >= logBytes) return false
    }
  }

  #keep(pages: Map<number, Uint8Array>): void {
    const begin = this.#places.size
    const added: Uint8Array[] = []
    for (const [number, page] of pages) {
      const place = this.#places.get(number)
      if (place !== undefined) {
        writePiece(this.#pages, place * this.pageBytes, page)
        continue
      }
      this.#places.set(number, begin + added.length)
      added.push(page)
    }
    writePiece(this.#pages, begin * this.pageBytes, concatenated(added))
  }
}

function readPiece(file: number, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const count = readSync(file, bytes, filled, length - filled, position + filled)
    if (count === 0) break
    filled += count
  }
  return bytes.subarray(0, filled)
}

function writePiece(file: number, position: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, position + at)
}

function concatenated(pieces: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1

/** The checksum of SQLite, continued over `bytes`, whose length is a multiple of 8. */
function addTo([first, second]: [number, number], bytes: Uint8Array, littleEndian: boolean): [number, number] {
  // SQLite writes in the order of its machine, and so the numbers can be read as they are.
  const words = littleEndian === isLittleEndian && bytes.byteOffset % 4 === 0
    ? new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    : wordsOf(bytes, littleEndian)
  let [a, b] = [first, second]
  for (let i = 0; i < words.length; i += 2) {
    a = (a + words[i] + b) >>> 0
    b = (b + words[i + 1] + a) >>> 0
  }
  return [a, b]
}

function wordsOf(bytes: Uint8Array, littleEndian: boolean): Uint32Array {
  const fields = view(bytes)
  return Uint32Array.from({ length: bytes.length / 4 }, (_, i) => fields.getUint32(i * 4, littleEndian))
}
