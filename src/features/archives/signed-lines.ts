/** Text lines followed by a signed list of their digests. See docs/protocol/archive.md. */
import { createHash } from 'node:crypto'
import { fingerprintOf, isSignedBy, type JWK, type Sign } from '../../lib/signing.ts'

const signedType = 'agent-grid-archive'
/** Number of lines per digest. */
const blockLines = 1_000

export interface LineSigner {
  publicKey: JWK
  sign: Sign
}

interface LastLine {
  digests: string[]
  lines: number
  public_key: JWK
  protected: string
  signature: string
}

export class SignedLinesError extends Error {
  readonly code: 'not_an_archive' | 'archive_changed' | 'wrong_fingerprint'

  constructor(code: SignedLinesError['code'], message: string) {
    super(message)
    this.name = 'SignedLinesError'
    this.code = code
  }
}

/** SHA-256 of each block of lines. */
class Digests {
  lines = 0
  readonly #done: string[] = []
  #block = createHash('sha256')

  add(line: string): void {
    this.#block.update(line).update('\n')
    if (++this.lines % blockLines === 0) this.#next()
  }

  end(): { lines: number; digests: string[] } {
    if (this.lines % blockLines > 0) this.#next()
    return { lines: this.lines, digests: this.#done }
  }

  #next(): void {
    this.#done.push(this.#block.digest('hex'))
    this.#block = createHash('sha256')
  }
}

/** Yields the lines as bytes, followed by the signed list. */
export async function* withSignature(
  lines: AsyncIterable<string>,
  signer: (text: string) => Promise<Pick<LastLine, 'public_key' | 'protected' | 'signature'>>,
): AsyncIterable<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  const digests = new Digests()
  for await (const line of lines) {
    digests.add(line)
    yield encoder.encode(`${line}\n`)
  }
  const list = digests.end()
  yield encoder.encode(`${JSON.stringify({ ...list, ...await signer(JSON.stringify(list)) })}\n`)
}

/** Signs an archive's list of digests. */
export async function signList({ publicKey: { kty, crv, x, y }, sign }: LineSigner, list: string) {
  return { public_key: { kty, crv, x, y }, ...await sign(list, signedType) }
}

/**
 * Reads all lines except the last, and verifies them against the last line. Resolves to the signed list of digests,
 * which identifies the content. Fails with a `SignedLinesError`. Lines are not authenticated until this resolves.
 */
export async function readSignedLines(
  bytes: AsyncIterable<Uint8Array>,
  fingerprint: string,
  onLine: (line: string) => void | Promise<void>,
): Promise<string> {
  const digests = new Digests()
  let last: string | undefined
  for await (const line of linesOf(bytes)) {
    if (last !== undefined) {
      digests.add(last)
      await onLine(last)
    }
    last = line
  }
  const end = lastLine(last)
  const list = JSON.stringify(digests.end())
  if (list !== JSON.stringify({ lines: end.lines, digests: end.digests })) throw changed()
  const found = await fingerprintOf(end.public_key).catch(() => undefined)
  if (found !== fingerprint) {
    throw new SignedLinesError(
      'wrong_fingerprint',
      `The archive is signed with another key: its fingerprint is ${found ?? 'unknown'}.`,
    )
  }
  if (!await isSignedBy(end.public_key, list, signedType, end)) throw changed()
  return list
}

/** Accepts exactly what `withSignature` writes. */
function lastLine(text: string | undefined): LastLine {
  const { lines, digests, public_key, protected: header, signature } = Object(parsed(text)) as LastLine
  const { kty, crv, x, y } = Object(public_key) as JWK
  const found = { lines, digests, public_key: { kty, crv, x, y }, protected: header, signature }
  if (typeof header !== 'string' || typeof signature !== 'string' || JSON.stringify(found) !== text) throw changed()
  return found
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    throw changed()
  }
}

function changed(): SignedLinesError {
  return new SignedLinesError('archive_changed', 'The archive was changed or cut off after it was made.')
}

/** Yields lines without the terminator that each must have. Fails with a `SignedLinesError` for invalid UTF-8. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest: string[] = []
  for await (const piece of bytes) {
    let text: string
    try {
      text = decoder.decode(piece, { stream: true })
    } catch {
      throw changed()
    }
    const lines = text.split('\n')
    rest.push(lines[0])
    for (const line of lines.slice(1)) {
      yield rest.join('')
      rest = [line]
    }
  }
  if (rest.join('') !== '') throw changed()
}
