/** Encrypted files. A modified, truncated or reordered file is rejected. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hour } from '../../../src/lib/time.ts'
import {
  type FileKey,
  readSealedFile,
  removeUnfinished,
  writeSealedFile,
} from '../../../src/store/backup/sealed-file.ts'

const key: FileKey = { passphrase: 'correct horse battery staple' }
const mebibyte = 2 ** 20
const folder = mkdtempSync(join(tmpdir(), 'agent-grid-sealed-'))
const path = join(folder, 'whole')
/** Two full chunks and a partial one. */
const content = new Uint8Array(2.5 * mebibyte).map((_, i) => (i * 31) ^ (i >> 12))
let whole: Uint8Array
let chunks: number[]
/** A file in the same format without a passphrase, which saves the time of deriving a key. */
const plain = join(folder, 'plain')

async function* parts(bytes: Uint8Array<ArrayBuffer>, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function opened(file: string, fileKey: FileKey | 'none' = key): Promise<Uint8Array> {
  const read: Uint8Array[] = []
  for await (const part of readSealedFile(file, fileKey === 'none' ? undefined : fileKey)) read.push(part)
  return Buffer.concat(read)
}

function changed(bytes: Uint8Array): string {
  const file = join(folder, 'changed')
  writeFileSync(file, bytes)
  return file
}

beforeAll(async () => {
  await writeSealedFile(path, key, parts(content, 300_000))
  await writeSealedFile(plain, 'plain', parts(content, mebibyte))
  whole = readFileSync(plain)
  const start = whole.indexOf(10, whole.indexOf(10) + 1) + 1
  chunks = [start, start + mebibyte + 16, start + 2 * (mebibyte + 16)]
})
afterAll(() => rmSync(folder, { recursive: true }))

test('a file can be decrypted with its passphrase, and is readable only by its owner', async () => {
  expect(Buffer.compare(await opened(path), content)).toBe(0)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
})

test('an encrypted file cannot be opened with another passphrase or without one', async () => {
  await expect(opened(path, { passphrase: 'correct horse battery stable' })).rejects.toMatchObject({
    code: 'wrong_key',
  })
  await expect(opened(path, 'none')).rejects.toMatchObject({ code: 'wrong_key' })
  await expect(opened(path, 'plain')).rejects.toMatchObject({ code: 'wrong_key' })
})

test('a file that is truncated at any position is rejected', async () => {
  const random = Array.from({ length: 6 }, () => Math.floor(Math.random() * whole.length))
  for (const end of [...random, 0, 10, chunks[0], chunks[1], chunks[2], chunks[2] + 10, whole.length - 1]) {
    await expect(opened(changed(whole.subarray(0, end)), 'none'), `cut at ${end}`).rejects.toMatchObject({
      code: expect.stringMatching(/backup_damaged|not_a_backup/),
    })
  }
})

test('a file that was extended, or whose chunks were swapped, is rejected', async () => {
  const [first, second, third] = chunks.map((at, i) => whole.subarray(at, chunks[i + 1]))
  const header = whole.subarray(0, chunks[0])
  for (const other of [[whole, [0]], [header, second, first, third], [header, first, third], [whole, third]]) {
    const bytes = Buffer.concat(other.map((part) => Uint8Array.from(part)))
    await expect(opened(changed(bytes), 'none')).rejects.toMatchObject({ code: 'backup_damaged' })
  }
})

test('a file with any changed byte is rejected', async () => {
  for (const at of [0, 25, chunks[0] - 5, chunks[0], chunks[1] + 77, whole.length - 1]) {
    const bytes = Uint8Array.from(whole)
    bytes[at] ^= 1
    await expect(opened(changed(bytes), 'none'), `byte ${at}`).rejects.toThrow()
  }
})

test('sealing never overwrites a file', async () => {
  await expect(writeSealedFile(plain, 'plain', parts(content, mebibyte))).rejects.toMatchObject({ code: 'EEXIST' })
  expect(Buffer.compare(readFileSync(plain), whole)).toBe(0)
})

test('a cleanup removes the files of killed processes, and nothing else', async () => {
  const left = join(folder, 'left')
  mkdirSync(left)
  const magic = 'agent-grid backup 1\n'
  const files: [name: string, text: string, hoursAgo: number][] = [
    ['old.backup.0123abcd.part', `${magic}{}`, 1],
    ['empty.backup.0123abcd.part', '', 2],
    ['running.backup.0123abcd.part', magic, 0.9],
    ['film.0123abcd.part', 'of another program', 2],
    ['whole.backup', magic, 2],
  ]
  const now = Date.now()
  for (const [name, text, hoursAgo] of files) {
    writeFileSync(join(left, name), text)
    utimesSync(join(left, name), now / 1_000, (now - hoursAgo * hour) / 1_000)
  }

  await removeUnfinished(left, now + 1_000)

  expect(readdirSync(left).sort()).toEqual(['film.0123abcd.part', 'running.backup.0123abcd.part', 'whole.backup'])
})
