/** `/api/v1/parts`: large message parts and file uploads. See docs/protocol/rest.md, "Parts", "Uploads". */
import * as z from 'zod'
import { callingAgent } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import { downloadBody } from '../answers/downloads.ts'
import { appendToUpload, beginUpload, findUpload } from '../grid/message/uploads.ts'
import { filename, mediaType } from '../lib/input.ts'
import { findPart } from '../grid/message/read-part.ts'
import { downloadHeaders } from '../lib/http/download.ts'
import { chunksOf } from '../lib/http/body.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { matchesEtag } from '../lib/http/response-headers.ts'
import { restError } from '../wire.ts'
import { type Route, route } from './route.ts'

type ByteRange = [first: number, last: number]

const partRoute = route({
  method: 'GET',
  path: '/api/v1/parts/{id}',
  id: 'getPart',
  tag: 'Messages',
  summary: 'Fetch a large part of a message',
  caller: 'agent key',
  parameters: { id: 'part_id from the message' },
  headers: {
    Range: 'A single byte range',
    'If-Range': 'The ETag of the part',
    'If-None-Match': 'The ETag of the part',
  },
  answers: {
    200: {
      description: 'The part, with the media type that its sender gave',
      content: '*/*',
      headers: { ETag: 'Its version' },
    },
    206: { description: 'The range', content: '*/*', headers: { 'Content-Range': 'The returned byte range' } },
    304: { description: 'The caller already has this version' },
  },
  errors: ['part_not_found', 'range_not_satisfiable', 'rate_limit_exceeded'],
  async serve({ account, c, params }) {
    const request = c.req.raw
    const part = await findPart(account, params.id)
    const { id, length } = part
    // The id serves as the ETag, because parts never change.
    const etag = `"${id}"`
    const headers = {
      ...downloadHeaders({ ...part, isText: part.text !== undefined }),
      ETag: etag,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private, no-cache',
    }
    if (matchesEtag(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers })

    const range = rangeOf(request, etag, length)
    if (range === 'unsatisfiable') {
      const error = new GridError('range_not_satisfiable', `The part has ${length} bytes.`)
      const answer = restError(c.get('trace').refusal(error))
      answer.headers.set('Content-Range', `bytes */${length}`)
      return answer
    }
    const [first, last] = range ?? [0, length - 1]
    const connection = new CallerConnection(request, c.env)
    return new Response(downloadBody(account, connection, part.pieces(first, last + 1)), {
      status: range ? 206 : 200,
      headers: {
        ...headers,
        'Content-Length': String(last + 1 - first),
        ...(range && { 'Content-Range': `bytes ${first}-${last}/${length}` }),
      },
    })
  },
})

const newUpload = z.strictObject({
  bytes: z.int().min(1).describe('The length of the file'),
  filename: filename.optional(),
  mediaType: mediaType.optional(),
})
const place = z.strictObject({
  offset: z.coerce.number().int().min(0).describe('The position of the body in the file'),
})
const upload = z.object({
  upload_id: z.string(),
  offset: z.int().describe('How many bytes are stored. The next request continues at this offset'),
  bytes: z.int(),
})
const ofUpload = {
  tag: 'Messages',
  caller: 'agent key',
  parameters: { id: 'upload_id from `POST /api/v1/parts`' },
} as const

export const partRoutes: Route[] = [
  partRoute,
  route({
    method: 'POST',
    path: '/api/v1/parts',
    id: 'beginUpload',
    tag: 'Messages',
    summary: 'Start an upload of a file for a message',
    caller: 'agent key',
    body: newUpload,
    answers: { 201: { description: 'Send its bytes', json: upload } },
    errors: ['invalid_input', 'payload_too_large', 'upload_limit_reached', 'quota_exceeded', 'storage_full'],
    serve: ({ account, body }) => beginUpload(account, callingAgent(account.actor), body),
  }),
  route({
    ...ofUpload,
    method: 'PUT',
    path: '/api/v1/parts/{id}',
    id: 'uploadBytes',
    summary: 'Upload a chunk of a file',
    description:
      'A chunk is at least 64 KiB, or the rest of the file. After an interruption, continue at the current offset of the upload.',
    query: place,
    bytes: 'application/octet-stream',
    answers: { 200: { description: 'The bytes are stored', json: upload } },
    errors: ['invalid_input', 'invalid_request', 'part_not_found', 'payload_too_large', 'wrong_offset', 'storage_full'],
    serve: ({ account, c, params, query }) =>
      appendToUpload(account, callingAgent(account.actor), params.id, query.offset, chunksOf(c.req.raw)),
  }),
  route({
    ...ofUpload,
    method: 'GET',
    path: '/api/v1/parts/{id}/upload',
    id: 'getUpload',
    summary: 'Get the progress of an upload',
    answers: { 200: { description: 'The upload', json: upload } },
    errors: ['part_not_found'],
    serve: ({ account, params }) => findUpload(account, params.id),
  }),
]

/**
 * Returns the requested byte range. Undefined for the complete part, if `Range` is missing, invalid or has several
 * ranges, or `If-Range` names another version. @see RFC 9110 §14.2, §13.1.5
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
