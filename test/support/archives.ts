/** Account archives in memory. */
import { Buffer } from 'node:buffer'
import { type Ask, importArchive } from '../../src/features/archives/commands/import-archive.ts'
import { signArchive } from '../../src/features/archives/archive.ts'
import { readSignedLines, withSignature } from '../../src/features/archives/signed-lines.ts'
import { fingerprintOf, type JWK } from '../../src/lib/signing.ts'
import type { Store } from '../../src/store/store.ts'
import { archiveLines } from '../../src/features/archives/store/archive.ts'

export interface Archive {
  text: string
  fingerprint: string
}

type Reader = Parameters<typeof archiveLines>[1]['reader']

/** Creates an archive of the account's current state, by default as the operator. */
export async function archiveOf(store: Store, account: string, reader?: Reader): Promise<Archive> {
  let fingerprint = ''
  const bytes = withSignature(archiveLines(store, { account, reader, madeAt: store.deps.now() }), async (list) => {
    const signed = await signArchive(store, list)
    fingerprint = await fingerprintOf(signed.public_key as JWK)
    return signed
  })
  return { text: await textOf(bytes), fingerprint }
}

export async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

/** Returns an archive's lines without the signature. */
export function linesOf({ text }: Archive): string[] {
  return text.trimEnd().split('\n').slice(0, -1)
}

/** Replaces an archive's lines and signs them again, as a malicious grid operator could. */
export async function changed(store: Store, archive: Archive, change: (lines: string[]) => string[]): Promise<Archive> {
  let fingerprint = ''
  async function* lines() {
    yield* change(linesOf(archive))
  }
  const bytes = withSignature(lines(), async (list) => {
    const signed = await signArchive(store, list)
    fingerprint = await fingerprintOf(signed.public_key as JWK)
    return signed
  })
  return { text: await textOf(bytes), fingerprint }
}

/** Returns an archive's rows by record, without the manifest and the signature. */
export function rowsOf(archive: Archive): Record<string, Record<string, unknown>[]> {
  const found: Record<string, Record<string, unknown>[]> = {}
  for (const line of linesOf(archive).slice(1)) {
    const [record, row] = JSON.parse(line)
    ;(found[record] ??= []).push(row)
  }
  return found
}

/** Reads an archive in pieces that end within lines and characters. Resolves to the number of lines. */
export async function check({ text, fingerprint }: Archive): Promise<number> {
  let lines = 0
  await readSignedLines(pieces(text), fingerprint, () => void lines++)
  return lines
}

/** Reads an archive, as an import does. */
export function readArchive({ text, fingerprint }: Archive, onLine: (line: string) => void | Promise<void>) {
  return readSignedLines(pieces(text), fingerprint, onLine)
}

/** Imports an archive. `beforeUnit` is called before each unit of rows with the unit's number, and may throw. */
export function importInto(
  store: Store,
  archive: Archive,
  { renames = [], beforeUnit }: { renames?: string[]; beforeUnit?: (n: number) => void | Promise<void> } = {},
) {
  let units = 0
  const ask: Ask = async (command, args) => {
    if (command.name !== 'begin-import') await beforeUnit?.(units++)
    return await command.run(store, args)
  }
  return importArchive(ask, {
    read: (onLine) => readArchive(archive, onLine),
    renames,
    reserved: store.deps.config.reservedAliases,
    now: store.deps.now(),
  })
}

async function* pieces(text: string): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 60_001) yield bytes.subarray(at, at + 60_001)
}
