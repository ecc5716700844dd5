/**
 * The headers of every response. Browsers must not guess a response's media type, and must use only HTTPS if the grid
 * uses HTTPS. See docs/security.md, "Requests".
 */

const commonHeaders = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' } as const
const cacheControl = 'Cache-Control'
const hsts = { 'Strict-Transport-Security': 'max-age=31536000' } as const

/** Marks responses that have all headers. A `WeakSet` would cost more garbage collection than it saves. */
const complete = Symbol('complete')
type MarkedResponse = Response & { [complete]?: true }

/** Adds the headers to responses when they are finished, or at lower cost when they are created. */
export class ResponseHeaders {
  readonly #headers: Readonly<Record<string, string>>

  /** `isSecure` means that all of the grid's origins use HTTPS. */
  constructor(isSecure: boolean) {
    this.#headers = isSecure ? { ...commonHeaders, ...hsts } : commonHeaders
  }

  /**
   * Returns a 200 response with JSON and all headers that `finish` would add. On Node, a response's headers remain a
   * plain object until they are read. Converting them to `Headers` and back costs a tenth of a request.
   */
  json(body: unknown, requestId: string): Response {
    const response: MarkedResponse = new Response(JSON.stringify(body), {
      headers: {
        'Content-Type': 'application/json',
        ...this.#headers,
        'X-Request-Id': requestId,
        [cacheControl]: 'no-store',
      },
    })
    response[complete] = true
    return response
  }

  finish(response: MarkedResponse, requestId: string): Response {
    return response[complete] ? response : withHeaders(response, requestId, this.#headers)
  }

  /** Finishes an error response. Omits HSTS, because the request may have been for another host. */
  finishError(response: Response, requestId: string): Response {
    return withHeaders(response, requestId, commonHeaders)
  }
}

function withHeaders(response: Response, requestId: string, added: Readonly<Record<string, string>>): Response {
  const { headers } = response
  headers.set('X-Request-Id', requestId)
  // Pages set their own Referrer-Policy, and assets their own Cache-Control.
  for (const name in added) if (!headers.has(name)) headers.set(name, added[name])
  if (!headers.has(cacheControl)) headers.set(cacheControl, 'no-store')
  return response
}

/** Whether `If-None-Match` names an ETag, by weak comparison. @see RFC 9110 §13.1.2 */
export function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').map(opaque).includes(opaque(etag))
}
