/** The headers of every answer: what keeps browsers from guessing, and from HTTP where all is HTTPS. Security: O16. */

const fixed = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' } as const
const cacheControl = 'Cache-Control'
const hsts = { 'Strict-Transport-Security': 'max-age=31536000' } as const

/** Gives answers their headers: at the end, or cheaper from the start. */
export class Answers {
  readonly #served: Readonly<Record<string, string>>
  readonly #complete = new WeakSet<Response>()

  /** `isSecure`: every address of the service is HTTPS. */
  constructor(isSecure: boolean) {
    this.#served = isSecure ? { ...fixed, ...hsts } : fixed
  }

  /**
   * 200 with JSON, `headers` and all that `finish` would add. On Node the headers of an answer stay a plain
   * object as long as nobody looks at them; turned into `Headers` and back they cost a tenth of a request.
   */
  json(body: unknown, requestId: string, headers: Readonly<Record<string, string>>): Response {
    const answer = new Response(JSON.stringify(body), {
      headers: {
        'Content-Type': 'application/json',
        ...headers,
        ...this.#served,
        'X-Request-Id': requestId,
        [cacheControl]: 'no-store',
      },
    })
    this.#complete.add(answer)
    return answer
  }

  /** Add the headers that a served answer of another make lacks. */
  finish(answer: Response, requestId: string): Response {
    return this.#complete.has(answer) ? answer : withHeaders(answer, requestId, this.#served)
  }

  /** The same for a refused request: nothing is said about how a host is served that may not be ours. */
  refuse(answer: Response, requestId: string): Response {
    return withHeaders(answer, requestId, fixed)
  }
}

function withHeaders(answer: Response, requestId: string, added: Readonly<Record<string, string>>): Response {
  const { headers } = answer
  headers.set('X-Request-Id', requestId)
  // Pages have a policy of their own for the referrer, and assets one for caches.
  for (const name in added) if (!headers.has(name)) headers.set(name, added[name])
  if (!headers.has(cacheControl)) headers.set(cacheControl, 'no-store')
  return answer
}
