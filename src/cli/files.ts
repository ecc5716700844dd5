/** Sends files in messages, and saves received files. The grid that delivers the files may be hostile. */
import { Buffer } from 'node:buffer'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mayRepeat } from '../clients/grid-call.ts'
import type { GridClient, InboxMessage } from '../clients/grid-client.ts'
import { withoutInvisible } from '../lib/invisible-text.ts'
import { CommandError } from './command.ts'

/** Larger files are uploaded before the message is sent. */
const maxInlineBytes = 256 * 1024
const pieceBytes = 1024 * 1024
const maxAttempts = 5
const maxNameBytes = 255
const maxSameNames = 1_000

const mediaTypes: Record<string, string> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  zip: 'application/zip',
}

/** A part with a file's content, or with the id of its upload. */
export async function partOfFile(client: GridClient, path: string): Promise<Record<string, unknown>> {
  const file = await open(path).catch((error) => {
    throw new CommandError('file_not_readable', `The file cannot be read: ${(error as Error).message}`)
  })
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new CommandError('file_not_readable', `${path} is not a file.`)
    const mediaType = mediaTypes[extname(path).slice(1).toLowerCase()]
    const about = { filename: basename(path), ...(mediaType && { mediaType }) }
    if (stat.size > maxInlineBytes) return { upload_id: await uploaded(client, file, { ...about, bytes: stat.size }) }
    return { ...about, raw: (await file.readFile()).toString('base64') }
  } finally {
    await file.close()
  }
}

async function uploaded(client: GridClient, file: FileHandle, about: { bytes: number }): Promise<string> {
  let { upload_id: id, offset } = await client.beginUpload(about)
  const piece = Buffer.alloc(pieceBytes)
  for (let failures = 0; offset < about.bytes;) {
    const { bytesRead } = await file.read(piece, 0, Math.min(pieceBytes, about.bytes - offset), offset)
    if (bytesRead === 0) throw new CommandError('file_not_readable', 'The file was truncated while it was read.')
    try {
      ;({ offset } = await client.upload(id, offset, piece.subarray(0, bytesRead)))
      failures = 0
    } catch (error) {
      if (!mayRepeat(error) || ++failures === maxAttempts) throw error
      await pause((error.retryAfterSeconds ?? failures) * 1_000)
      ;({ offset } = await client.uploadState(id))
    }
  }
  return id
}

interface ReceivedPart {
  filename?: string
  mediaType?: string
  bytes?: number
  kind?: string
  text?: string
  raw?: string
  url?: string
  data?: unknown
  part_id?: string
}

export function partsOf({ parts }: InboxMessage): ReceivedPart[] {
  return Array.isArray(parts) ? parts.filter((part) => typeof part === 'object' && part !== null) : []
}

/** One line of text per part of a message. */
export function partLines(message: InboxMessage): string {
  return partsOf(message).map(({ filename, kind, mediaType, bytes, url }) => {
    const facts = [url, mediaType, bytes === undefined ? undefined : `${bytes} bytes`]
    return `\n  [${[filename ?? kind ?? 'part', ...facts].filter((fact) => fact !== undefined).map(lineOf).join(', ')}]`
  }).join('')
}

function lineOf(text: unknown): string {
  return withoutInvisible(String(text)).replace(/\s+/g, ' ')
}

/**
 * Saves the files and data of messages in a folder. Resolves to their paths. Never writes outside the folder, and never
 * replaces a file.
 */
export async function saveParts(client: GridClient, folder: string, messages: InboxMessage[]): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  const saved: string[] = []
  for (const part of messages.flatMap(partsOf)) {
    const content = await contentOf(client, part)
    if (content !== undefined) saved.push(await saveAs(folder, safeName(part), content))
  }
  return saved
}

type Content = AsyncIterable<Uint8Array> | Uint8Array[]

/** A part's content; undefined for a URL, which is not fetched. */
async function contentOf(client: GridClient, part: ReceivedPart): Promise<Content | undefined> {
  if (typeof part.part_id === 'string') return await client.part(part.part_id)
  if (typeof part.text === 'string') return [Buffer.from(part.text)]
  if (typeof part.raw === 'string') return [Buffer.from(part.raw, 'base64')]
  return part.data === undefined ? undefined : [Buffer.from(JSON.stringify(part.data))]
}

async function saveAs(folder: string, name: string, content: Content): Promise<string> {
  const { file, path } = await newFile(folder, name)
  try {
    for await (const piece of content) await file.write(piece)
  } catch (error) {
    await unlink(path)
    throw error
  } finally {
    await file.close()
  }
  return path
}

/** Creates a file with this name, or with a number appended. Does not follow an existing link. */
async function newFile(folder: string, name: string): Promise<{ file: FileHandle; path: string }> {
  const end = extname(name)
  for (let n = 1; n <= maxSameNames; n++) {
    const path = join(folder, n === 1 ? name : within(name.slice(0, name.length - end.length), ` (${n})${end}`))
    try {
      return { file: await open(path, 'wx', 0o600), path }
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error
    }
  }
  throw new CommandError('file_exists', `The folder already has ${maxSameNames} files named like ${name}.`)
}

const fallbacks: Record<string, string> = { text: 'part.txt', data: 'part.json', raw: 'part.bin' }

/** A safe version of a sender's file name. It has no folders, is not hidden, and is not reserved by Windows. */
export function safeName(part: ReceivedPart): string {
  const kind = part.kind ?? Object.keys(fallbacks).find((name) => part[name as 'text' | 'data' | 'raw'] !== undefined)
  const given = withoutInvisible(String(part.filename ?? '').toWellFormed()).split(/[/\\]/).at(-1)!
  // deno-lint-ignore no-control-regex -- controls are what it looks for
  const plain = given.replace(/[\x00-\x1f<>:"|?*]+/g, '_').replace(/^[.\s]+|[.\s]+$/g, '')
  const name = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(plain) ? `_${plain}` : plain
  const end = extname(name)
  return within(name.slice(0, name.length - end.length), end) || fallbacks[kind ?? 'raw'] || 'part.json'
}

/** `start` followed by `end`. `start` is truncated to the maximum length of a file name. */
function within(start: string, end: string): string {
  const characters = [...start]
  const most = Math.max(maxNameBytes - Buffer.byteLength(end), 0)
  while (Buffer.byteLength(characters.join('')) > most) characters.pop()
  return characters.join('') + (Buffer.byteLength(end) > maxNameBytes ? '' : end)
}
