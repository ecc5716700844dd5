/**
 * Files that are encrypted in chunks.
 *
 * A file is one line of text, one line of JSON, and the chunks. Each chunk is AES-256-GCM of up to 1 MiB. The nonce
 * contains the chunk's number, and whether the chunk is the last one. So a file that was truncated, extended or
 * reordered is rejected (the STREAM construction: Hoang, Reyhanitabar, Rogaway and Vizár, "Online
 * Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015). Both lines are authenticated with every
 * chunk. Each file has its own key, which scrypt (RFC 7914) derives from the passphrase and a random salt.
 */
import { scrypt } from 'node:crypto'
import { type FileHandle, link, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fromBase64, toBase64 } from '../../lib/encoding.ts'
import { hour } from '../../lib/time.ts'
import { readAt, sync, writeAt } from './files.ts'

/** The passphrase. A `plain` file contains its own key, so that damage is still detected. */
export type FileKey = { passphrase: string } | 'plain'

export class SealedFileError extends Error {
  readonly code: 'not_a_backup' | 'wrong_key' | 'backup_damaged'

  constructor(code: SealedFileError['code'], message: string) {
    super(message)
    this.name = 'SealedFileError'
    this.code = code
  }
}

interface Header {
  scrypt?: { n: number; r: number; p: number }
  /** The passphrase's salt; in a plain file, the key itself. */
  salt: string
  /** A text that can be decrypted only with the correct key, to distinguish a wrong key from a damaged file. */
  check: string
}

type Bytes = Uint8Array<ArrayBuffer>

const magic = 'agent-grid backup 1\n'
const maxHeaderBytes = 1_000
const chunkBytes = 2 ** 20
const tagBytes = 16
const keyBytes = 32
/** Costs 64 MiB and about a third of a second, on another thread. */
const cost = { n: 2 ** 16, r: 8, p: 2 }

/** Writes an encrypted file. Fails with `EEXIST` if the name is taken. */
export function writeSealedFile(path: string, key: FileKey, parts: AsyncIterable<Bytes>): Promise<void> {
  return writeNewFile(path, seal(key, parts))
}

/** Whether a file begins like one written by `writeSealedFile`. */
export async function isSealedFile(path: string): Promise<boolean> {
  const file = await open(path, 'r')
  try {
    return new TextDecoder().decode(await readAt(file, 0, magic.length)) === magic
  } finally {
    await file.close()
  }
}

/** Writes a file next to its final path, syncs it, and renames it. Fails with `EEXIST` if the name is taken. */
export async function writeNewFile(path: string, parts: AsyncIterable<Bytes>): Promise<void> {
  if (await exists(path)) throw alreadyExists(path)
  const unfinished = `${path}.${crypto.randomUUID().slice(0, 8)}.part`
  try {
    const file = await open(unfinished, 'wx', 0o600)
    try {
      let at = 0
      for await (const sealed of parts) {
        await writeAt(file, at, sealed)
        at += sealed.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    await publish(unfinished, path)
  } finally {
    await rm(unfinished, { force: true })
  }
  await sync(dirname(path)).catch(() => {})
}

/** Removes unfinished files to which no process has written for an hour, because their processes were killed. */
export async function removeUnfinished(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/\.[0-9a-f]{8}\.part$/.test(name)) continue
    const path = join(folder, name)
    if (now - (await stat(path)).mtimeMs >= hour && await isUnfinished(path)) await rm(path, { force: true })
  }
}

/** Other programs may use similar file names. */
async function isUnfinished(path: string): Promise<boolean> {
  const file = await open(path, 'r')
  try {
    return magic.startsWith(new TextDecoder().decode(await readAt(file, 0, magic.length)))
  } finally {
    await file.close()
  }
}

/** Reads a file's content. Do not use any of it before the end, because only then is the file known to be complete. */
export async function* readSealedFile(path: string, key: FileKey | undefined): AsyncIterable<Bytes> {
  const file = await open(path, 'r')
  try {
    yield* unseal(file, path, key)
  } finally {
    await file.close()
  }
}

async function* seal(key: FileKey, parts: AsyncIterable<Bytes>): AsyncIterable<Bytes> {
  const salt = crypto.getRandomValues(new Uint8Array(keyBytes))
  const plain: Omit<Header, 'check'> = key === 'plain'
    ? { salt: toBase64(salt) }
    : { scrypt: cost, salt: toBase64(salt) }
  const aes = await importKey(key === 'plain' ? salt : await stretched(key.passphrase, salt, cost), 'encrypt')
  const check = toBase64(await encrypt(aes, new Uint8Array(0), checkNonce, utf8(JSON.stringify(plain))))
  const header = utf8(`${magic}${JSON.stringify({ ...plain, check } satisfies Header)}\n`)
  yield header
  let n = 0
  let waiting: Bytes | undefined
  for await (const chunk of inChunks(parts)) {
    if (waiting) yield await encrypt(aes, waiting, nonceOf(n++, false), header)
    waiting = chunk
  }
  yield await encrypt(aes, waiting ?? new Uint8Array(0), nonceOf(n, true), header)
}

async function* unseal(file: FileHandle, path: string, key: FileKey | undefined): AsyncIterable<Bytes> {
  const { header, line } = await readHeader(file, path)
  const { scrypt: kdf, check, ...rest } = header
  const salt = fromBase64(header.salt)
  if (kdf && (key === undefined || key === 'plain')) {
    throw new SealedFileError('wrong_key', `${path} is encrypted: give its passphrase in BACKUP_KEY.`)
  }
  if (!kdf && key !== undefined && key !== 'plain') {
    throw new SealedFileError(
      'wrong_key',
      `${path} is not encrypted, so anyone could have written it. If you trust it, give no passphrase.`,
    )
  }
  const raw = kdf ? await stretched((key as { passphrase: string }).passphrase, salt, kdf) : salt
  const aes = await importKey(raw, 'decrypt')
  const checked = utf8(JSON.stringify(kdf ? { scrypt: kdf, ...rest } : rest))
  if (!await decrypt(aes, fromBase64(check), checkNonce, checked)) {
    throw new SealedFileError('wrong_key', `${path} does not open with this passphrase.`)
  }
  let at = line.length
  let chunk = await readAt(file, at, chunkBytes + tagBytes)
  for (let n = 0;; n++) {
    at += chunk.length
    const next = await readAt(file, at, chunkBytes + tagBytes)
    const plain = await decrypt(aes, chunk, nonceOf(n, next.length === 0), line)
    if (!plain) throw new SealedFileError('backup_damaged', `${path} is damaged or cut off.`)
    yield plain
    if (next.length === 0) return
    chunk = next
  }
}

async function readHeader(file: FileHandle, path: string): Promise<{ header: Header; line: Bytes }> {
  const start = await readAt(file, 0, maxHeaderBytes)
  const end = start.indexOf(10, magic.length)
  const notOurs = () =>
    new SealedFileError('not_a_backup', `${path} is not a backup of agent-grid, or its start is damaged.`)
  if (new TextDecoder().decode(start.subarray(0, magic.length)) !== magic || end === -1) throw notOurs()
  try {
    const header = JSON.parse(new TextDecoder().decode(start.subarray(magic.length, end))) as Header
    // A tampered header makes decryption fail, but could waste time and memory first. So only `cost` is accepted.
    const { scrypt: kdf, salt, check } = header
    const isKnown = !kdf || (kdf.n === cost.n && kdf.r === cost.r && kdf.p === cost.p)
    if (isKnown && typeof check === 'string' && fromBase64(salt).length === keyBytes) {
      return { header, line: start.slice(0, end + 1) }
    }
  } catch {
    // The error is thrown below.
  }
  throw notOurs()
}

async function* inChunks(parts: AsyncIterable<Bytes>): AsyncIterable<Bytes> {
  let chunk = new Uint8Array(chunkBytes)
  let filled = 0
  for await (const part of parts) {
    for (let at = 0; at < part.length;) {
      const piece = part.subarray(at, at + chunkBytes - filled)
      chunk.set(piece, filled)
      filled += piece.length
      at += piece.length
      if (filled < chunkBytes) continue
      yield chunk
      chunk = new Uint8Array(chunkBytes)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

/** A nonce: 11 bytes with the chunk's number, and one byte that is 1 for the last chunk. */
function nonceOf(n: number, isLast: boolean): Bytes {
  const nonce = new Uint8Array(12)
  new DataView(nonce.buffer).setBigUint64(3, BigInt(n))
  nonce[11] = isLast ? 1 : 0
  return nonce
}

const checkNonce: Bytes = new Uint8Array(12).fill(255)

async function encrypt(key: CryptoKey, bytes: Bytes, iv: Bytes, additionalData: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, key, bytes))
}

async function decrypt(key: CryptoKey, bytes: Bytes, iv: Bytes, additionalData: Bytes): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, key, bytes))
  } catch {
    return undefined
  }
}

function importKey(raw: Bytes, use: 'encrypt' | 'decrypt'): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', raw, 'AES-GCM', false, [use])
}

/** Derives the key with `scrypt`, because `scryptSync` would block the event loop. */
function stretched(passphrase: string, salt: Bytes, { n, r, p }: typeof cost): Promise<Bytes> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), salt, keyBytes, { N: n, r, p, maxmem: 2 * 128 * n * r }, (error, key) => {
      if (error) reject(error)
      else resolve(new Uint8Array(key))
    })
  })
}

function utf8(text: string): Bytes {
  return new TextEncoder().encode(text)
}

/**
 * Never overwrites another file. Without hard links, a file system cannot guarantee this, so the name is checked first.
 */
async function publish(unfinished: string, path: string): Promise<void> {
  try {
    await link(unfinished, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || await exists(path)) throw alreadyExists(path)
    await rename(unfinished, path)
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, () => false)
}

function alreadyExists(path: string): Error {
  return Object.assign(new Error(`${path} already exists`), { code: 'EEXIST' })
}
