/** `GET /api/v1/parts/{id}`: the content of a large part of a message. See docs/protocol.md, "Large parts". */
import type { AuthenticateCall } from '../auth/bearer.ts'
import { GridError } from '../errors.ts'
import { findPart } from '../grid/messaging/parts.ts'
import type { Handler } from '../request-context.ts'
import { restError } from '../wire.ts'

/** The first and the last byte. */
type ByteRange = [first: number, last: number]

/**
 * Answer with a part of a message that the calling agent received or sent, or with the range that `Range` names.
 * Fails with `unauthenticated`, `rate_limit_exceeded`, `wrong_credential` (not an agent), `part_not_found` or
 * `range_not_satisfiable`.
 */
export function partContent(authenticateCall: AuthenticateCall): Handler {
  return async function partContent(c) {
    const { account } = await authenticateCall(c)
    const request = c.req.raw
    const { id, mediaType, text, bytes } = await findPart(account, c.req.param('id')!)
    // A part never changes.
    const etag = `"${id}"`
    const headers = {
      'Content-Type': text === undefined ? mediaType : `${mediaType.split(';')[0]}; charset=utf-8`,
      ETag: etag,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private, no-cache',
      // The sender chose type and content. A browser must neither show nor run them as a page of the grid.
      'Content-Disposition': 'attachment',
      'Content-Security-Policy': "default-src 'none'; sandbox",
    }
    if (isListed(etag, request.headers.get('if-none-match'))) return new Response(null, { status: 304, headers })

    const range = rangeOf(request, etag, bytes.length)
    if (range === 'unsatisfiable') {
      const error = new GridError('range_not_satisfiable', `The part has ${bytes.length} bytes.`)
      const answer = restError(error)
      answer.headers.set('Content-Range', `bytes */${bytes.length}`)
      return answer
    }
    if (!range) return new Response(bytes, { headers })
    const [first, last] = range
    return new Response(bytes.subarray(first, last + 1), {
      status: 206,
      headers: { ...headers, 'Content-Range': `bytes ${first}-${last}/${bytes.length}` },
    })
  }
}

/**
 * The range that a request asks for. Undefined for the whole part: without `Range`, with one that is not understood or
 * names several ranges, and when `If-Range` names another version. @see RFC 9110 §14.2, §13.1.5
 */
function rangeOf({ headers }: Request, etag: string, length: number): ByteRange | 'unsatisfiable' | undefined {
  const condition = headers.get('if-range')
  if (condition !== null && condition !== etag) return undefined
  const [, from, to] = headers.get('range')?.match(/^bytes=(\d{0,15})-(\d{0,15})$/) ?? []
  if (from === undefined || from + to === '') return undefined
  if (from === '') {
    const suffix = Math.min(Number(to), length)
    return suffix === 0 ? 'unsatisfiable' : [length - suffix, length - 1]
  }
  const first = Number(from)
  const last = to === '' ? length - 1 : Math.min(Number(to), length - 1)
  if (to !== '' && Number(to) < first) return undefined
  return first < length ? [first, last] : 'unsatisfiable'
}

/** Whether `If-None-Match` lists a version. @see RFC 9110 §13.1.2 */
function isListed(etag: string, list: string | null): boolean {
  if (list === null) return false
  return list.trim() === '*' || list.split(',').some((entry) => entry.trim().replace(/^W\//, '') === etag)
}
