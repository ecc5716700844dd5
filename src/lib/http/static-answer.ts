/** Compressed responses that are the same for all callers. See docs/security.md, "Requests". */
import { parseAccept } from 'hono/utils/accept'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { once } from '../lazy.ts'

/** The compressors by content coding, the most effective first. @see RFC 9110 §8.4.1, RFC 7932 */
const compressors: Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>> = {
  br: promisify(brotliCompress),
  gzip: promisify(gzip),
}
type Coding = 'br' | 'gzip'
const codings = Object.keys(compressors) as Coding[]

/**
 * Answers every request with the result of `make`, which is called once and must not depend on a request or a user. The
 * result is compressed once for each coding that clients accept.
 */
export function staticAnswer(make: () => Response | Promise<Response>): (request: Request) => Promise<Response> {
  const original = once(async () => {
    const response = await make()
    const { headers, status } = response
    return { headers, status, bytes: new Uint8Array(await response.arrayBuffer()) }
  })
  const inCoding = (coding: Coding) =>
    once(async () => new Uint8Array(await compressors[coding]((await original()).bytes)))
  const compressed = { br: inCoding('br'), gzip: inCoding('gzip') } satisfies Record<Coding, unknown>

  return async function staticAnswer(request) {
    const { headers, status, bytes } = await original()
    const coding = bestCoding(request.headers.get('accept-encoding') ?? '')
    // Copy the headers, because Node's server may keep the object that was passed to a response.
    const response = new Response(coding ? await compressed[coding]() : bytes, {
      status,
      headers: new Headers(headers),
    })
    response.headers.set('Vary', 'Accept-Encoding')
    if (coding) response.headers.set('Content-Encoding', coding)
    return response
  }
}

/** Returns the best coding that an `Accept-Encoding` header lists and does not forbid. @see RFC 9110 §12.5.3 */
function bestCoding(header: string): Coding | undefined {
  const accepted = parseAccept(header).filter(({ q }) => q > 0).map(({ type }) => type.toLowerCase())
  return codings.find((coding) => accepted.includes(coding))
}
