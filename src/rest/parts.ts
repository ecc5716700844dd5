/** `GET /api/v1/parts/{id}`: the content of a large part of a message. See docs/protocol/messages.md, "Large parts". */
import { GridError } from '../errors.ts'
import { findPart } from '../grid/messaging/parts.ts'
import { matchesEtag } from '../lib/http/response-headers.ts'
import { restError } from '../wire.ts'
import { route } from './route.ts'

type ByteRange = [first: number, last: number]

export const partRoute = route({
  method: 'GET',
  path: '/api/v1/parts/{id}',
  id: 'getPart',
  tag: 'Messages',
  summary: 'Fetch a large part of a message',
  caller: 'agent key',
  parameters: { id: 'part_id from the message' },
  headers: {
    Range: 'One range of bytes',
    'If-Range': 'The ETag of the part',
    'If-None-Match': 'The ETag of the part',
  },
  answers: {
    200: {
      description: 'The part, in the media type of its sender',
      content: '*/*',
      headers: { ETag: 'Its version' },
    },
    206: { description: 'The range', content: '*/*', headers: { 'Content-Range': 'Which bytes these are' } },
    304: { description: 'The caller has this version' },
  },
  errors: ['part_not_found', 'range_not_satisfiable'],
  async serve({ account, c, params }) {
    const request = c.req.raw
    const { id, mediaType, text, bytes } = await findPart(account, params.id)
    // A part never changes.
    const etag = `"${id}"`
    const headers = {
      'Content-Type': text === undefined ? mediaType : `${mediaType.split(';')[0]}; charset=utf-8`,
      ETag: etag,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private, no-cache',
      // The sender chose type and content. Browsers must not show or run them as a page of the grid.
      'Content-Disposition': 'attachment',
      'Content-Security-Policy': "default-src 'none'; sandbox",
    }
    if (matchesEtag(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers })

    const range = rangeOf(request, etag, bytes.length)
    if (range === 'unsatisfiable') {
      const error = new GridError('range_not_satisfiable', `The part has ${bytes.length} bytes.`)
      const answer = restError(c.get('trace').refusal(error))
      answer.headers.set('Content-Range', `bytes */${bytes.length}`)
      return answer
    }
    if (!range) return new Response(bytes, { headers })
    const [first, last] = range
    return new Response(bytes.subarray(first, last + 1), {
      status: 206,
      headers: { ...headers, 'Content-Range': `bytes ${first}-${last}/${bytes.length}` },
    })
  },
})

/** Undefined for the whole part: `Range` is absent, not understood or of several ranges, or `If-Range` has another version. @see RFC 9110 §14.2, §13.1.5 */
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
