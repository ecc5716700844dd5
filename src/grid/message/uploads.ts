/**
 * Files that are too large for a call. They are uploaded in pieces, then named by one message. See
 * docs/protocol/rest.md, "Uploads".
 */
import { limitsOf } from '../limits.ts'
import { Buffer } from 'node:buffer'
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput, limitReached } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { cleanedLine } from '../../lib/invisible-text.ts'
import { hour, second, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { maxUnfinished, trialUploadBytes, type Upload, uploadRowBytes } from '../../store/account/uploads.ts'
import { openUpload, uploaderOf } from './open-upload.ts'
import type { Sender } from './outgoing-message.ts'
import { hasUploads, isUploadPart } from './parts.ts'
import { megabyte } from './quota.ts'

/** Guardrails check this many bytes of a message's files. */
const maxGuardedBytes = 1024 * 1024

interface UploadState {
  upload_id: string
  /** The offset of the next byte. */
  offset: number
  bytes: number
}

/**
 * Begins a file upload. Its declared bytes count against the account's daily quota. Fails with `payload_too_large`,
 * `storage_full`, `upload_limit_reached` or `quota_exceeded`.
 */
export async function beginUpload(
  account: AccountStore,
  { agentId }: Pick<Sender, 'agentId'>,
  given: { filename?: string; mediaType?: string; bytes: number },
): Promise<UploadState> {
  const { deps: { config, now }, read, change } = account
  const { bytes, filename, mediaType = null } = given
  if (bytes > config.maxFileBytes) {
    throw new GridError('payload_too_large', `A file can have at most ${config.maxFileBytes} bytes.`)
  }
  account.requireSpace(bytes)
  const at = now()
  const uploader = uploaderOf(account, agentId)
  const quotas = { day: startOfDay(at), bytesPerDay: config.megabytesPerDay * megabyte }
  const upload = { id: newId(), filename: filename === undefined ? null : cleanedLine(filename), mediaType, bytes }
  await account.write([
    change.uploads.add(uploader, upload, quotas, at),
    change.usage.countBytes(quotas.day, bytes),
  ])
  if (await read.uploads.byId(uploader, upload.id)) return { upload_id: upload.id, offset: 0, bytes }
  if ((await read.uploads.open(uploader)).length >= maxUnfinished) {
    throw new GridError(
      'upload_limit_reached',
      `You have ${maxUnfinished} uploads that no message includes. Send one, or wait an hour.`,
    )
  }
  const ofTrial = await read.uploads.trialBytes(agentId)
  const [quota, limit] = ofTrial && ofTrial.bytes + bytes > trialUploadBytes
    ? ['trial_upload_bytes', trialUploadBytes]
    : ['megabytes_per_day', (await limitsOf(account)).megabytesPerDay]
  const message = `This file would exceed a limit: ${limit} ${quota.replaceAll('_', ' ')}.`
  const details = {
    limit: { name: quota.replaceAll('_', '-'), quota: limit },
    info: { quota, limit: String(limit) },
  }
  // Removing unnamed uploads frees trial quota, but sent uploads keep it used.
  if (ofTrial && ofTrial.sent + bytes > trialUploadBytes) {
    throw new GridError('quota_exceeded', `${message} It will not fit later either.`, details)
  }
  throw limitReached('quota_exceeded', message, details.limit, hour / second, details)
}

/** Returns the state of an upload of the caller that no message has named. Fails with `part_not_found`. */
export async function findUpload(account: AccountStore, id: string): Promise<UploadState> {
  return stateOf(await openUpload(account, callingAgent(account.actor).agentId, id))
}

/**
 * Stores the bytes from `offset` on, one row in memory at a time. If the body ends early, complete rows stay stored.
 * Fails with `part_not_found`, `wrong_offset` (the upload is at another offset), `invalid_input` or `storage_full`.
 */
export async function appendToUpload(
  account: AccountStore,
  { agentId }: Pick<Sender, 'agentId'>,
  id: string,
  offset: number,
  body: AsyncIterable<Uint8Array>,
): Promise<UploadState> {
  const upload = await openUpload(account, agentId, id)
  if (offset !== upload.received) throw wrongOffset(upload)
  let at = offset
  let came = 0
  const row = Buffer.allocUnsafe(uploadRowBytes)
  let filled = 0
  const store = async () => {
    at = await storeRow(account, agentId, { ...upload, received: at }, row.subarray(0, filled))
    filled = 0
  }
  for await (const chunk of whole(body)) {
    came += chunk.length
    if (offset + came > upload.bytes) {
      throw new GridError(
        'payload_too_large',
        `The file was declared with ${upload.bytes} bytes, and this exceeds them.`,
      )
    }
    for (let from = 0; from < chunk.length;) {
      const taken = Math.min(chunk.length - from, uploadRowBytes - filled)
      row.set(chunk.subarray(from, from + taken), filled)
      filled += taken
      from += taken
      if (filled === uploadRowBytes || at + filled === upload.bytes) await store()
    }
  }
  if (came > 0 && at === offset) {
    throw invalidInput(`Send at least ${uploadRowBytes} bytes, or everything that is left.`, 'body')
  }
  return { upload_id: id, offset: at, bytes: upload.bytes }
}

/** Reads a body. Fails with `invalid_request` if it is aborted; the sender can then ask how much arrived. */
async function* whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await chunks.next().catch((error) => {
        if (error instanceof GridError) throw error
      })
      if (!next) throw new GridError('invalid_request', 'The body ended early.')
      if (next.done) return
      yield next.value
    }
  } finally {
    await chunks.return?.().catch(() => {})
  }
}

async function storeRow(account: AccountStore, agentId: string, upload: Upload, content: Uint8Array): Promise<number> {
  account.requireSpace(upload.bytes - upload.received)
  const uploader = uploaderOf(account, agentId)
  const [, [stored]] = await account.write(
    account.change.uploads.append(uploader, upload.id, upload.received, content),
  )
  // Another call has already stored this row.
  if (!stored) throw wrongOffset(await openUpload(account, agentId, upload.id))
  return Number(stored.received)
}

function wrongOffset({ received }: Upload): GridError {
  return new GridError('wrong_offset', `Continue at offset ${received}.`, { offset: received })
}

function stateOf({ id, received, bytes }: Upload): UploadState {
  return { upload_id: id, offset: received, bytes }
}

/** Returns details with uploads as `raw`, for guardrails, up to a limit. `messageId` may name a stored message. */
export async function withContents(
  account: AccountStore,
  { agentId }: Sender,
  details: Record<string, unknown>,
  messageId: string,
): Promise<Record<string, unknown>> {
  const { uploads } = account.read
  const { parts } = details
  if (!Array.isArray(parts) || !hasUploads(details)) return details
  let left = maxGuardedBytes
  const loaded: unknown[] = []
  for (const part of parts) {
    const { bytes } = part
    if (isUploadPart(part) && bytes <= left) {
      left -= bytes
      const read = async (n: number) =>
        await uploads.row(uploaderOf(account, agentId), part.upload, n) ??
          await uploads.rowOfMessage(agentId, messageId, part.upload, n)
      loaded.push({ ...part, raw: (await bytesBetween(read, 0, bytes)).toString('base64') })
    } else loaded.push(part)
  }
  return { ...details, parts: loaded }
}

/** Returns details without the additions of `withContents`. */
export function withoutContents(details: Record<string, unknown>): Record<string, unknown> {
  const { parts } = details
  if (!Array.isArray(parts)) return details
  return { ...details, parts: parts.map((part) => isUploadPart(part) ? { ...part, raw: undefined } : part) }
}

export type ReadRow = (n: number) => Promise<Uint8Array | undefined>

/** Returns the bytes from `first` up to `end`, exclusive. Fails with `part_not_found` if they were removed. */
export async function bytesBetween(read: ReadRow, first: number, end: number): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = []
  for await (const piece of piecesBetween(read, first, end)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Like `bytesBetween`, but row by row. */
export async function* piecesBetween(read: ReadRow, first: number, end: number): AsyncGenerator<Uint8Array> {
  for (let at = first; at < end;) {
    const n = Math.floor(at / uploadRowBytes)
    const row = await read(n)
    if (!row) throw new GridError('part_not_found', 'This file was removed.')
    const begin = n * uploadRowBytes
    yield row.subarray(at - begin, end - begin)
    at = begin + row.length
  }
}
