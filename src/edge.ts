/** What every request passes: checks of Host and Origin, the response headers, the log. */
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { GridError } from './errors.ts'
import type { ResponseHeaders } from './lib/http/response-headers.ts'
import type { Connection } from './listen.ts'

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']

/** The origins of this grid. They come only from the settings, never from a request. */
export function servedOrigins(config: Config): string[] {
  const origins = [config.baseUrl, config.appUrl].flatMap((origin) => {
    const url = new URL(origin)
    if (!loopbackHosts.includes(url.hostname)) return [origin]
    const port = url.port ? `:${url.port}` : ''
    return loopbackHosts.map((host) => `${url.protocol}//${host}${port}`)
  })
  return [...new Set(origins)]
}

/** A request that arrives at the edge. */
export interface ArrivingRequest {
  readonly request: Request
  readonly connection: Connection
  readonly requestId: string
  readonly path: string
}

/**
 * Lets a request pass to `answer`, and finishes the response. Fails with `unknown_host`, with `forbidden_origin`, or as
 * `answer` does.
 */
export type Edge = (arriving: ArrivingRequest, answer: () => Promise<Response>) => Promise<Response>

/**
 * Refuses an unknown Host (421) and a foreign Origin (403). Gives every response an id and its headers.
 * See docs/security.md, "Request edge".
 */
export function createEdge({ config, log, now, bodies }: Deps, responseHeaders: ResponseHeaders): Edge {
  const hosts = new Set(servedOrigins(config).flatMap(hostHeaders))
  const isAllowedOrigin = originFilter(config)

  return async function edge({ request, connection, requestId, path }, answer) {
    const startedAt = now()
    const host = request.headers.get('host') ?? new URL(request.url).host
    if (!hosts.has(host.toLowerCase())) {
      throw new GridError(
        'unknown_host',
        'This host is not served here. Set BASE_URL and APP_URL to the public addresses.',
      )
    }
    const origin = request.headers.get('origin')
    if (origin !== null && !isAllowedOrigin(origin)) {
      throw new GridError(
        'forbidden_origin',
        'This origin may not call the grid. ALLOWED_ORIGINS lists the allowed origins.',
      )
    }
    if (connection.caller) bodies.begin(request, connection.caller)
    let response: Response
    try {
      response = await answer()
    } finally {
      bodies.release(request)
    }
    responseHeaders.finish(response, requestId)
    log.debug('request', {
      requestId,
      method: request.method,
      path,
      status: response.status,
      ms: now() - startedAt,
    })
    return response
  }
}

/** A new id for a request. A fifth of the cost of `newId`; request ids need no order. */
export function newRequestId(): string {
  return crypto.randomUUID()
}

/** The possible Host headers of an origin: the default port of the scheme may be omitted. @see RFC 9110 §7.2 */
function hostHeaders(origin: string): string[] {
  const { protocol, host, hostname, port } = new URL(origin)
  return port ? [host] : [host, `${hostname}:${protocol === 'https:' ? 443 : 80}`]
}

/** With a loopback address, only loopback origins and our own are allowed. This prevents DNS rebinding. */
function originFilter(config: Config): (origin: string) => boolean {
  const own = servedOrigins(config)
  if (loopbackHosts.includes(new URL(config.baseUrl).hostname)) {
    return (origin) =>
      own.includes(origin) || (URL.canParse(origin) && loopbackHosts.includes(new URL(origin).hostname))
  }
  if (config.allowedOrigins.includes('*')) return () => true
  return (origin) => own.includes(origin) || config.allowedOrigins.includes(origin)
}
