/** What every request passes: checks of Host and Origin, the response headers, the log. */
import type { MiddlewareHandler } from 'hono'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { GridError } from './errors.ts'
import type { ResponseHeaders } from './lib/http/response-headers.ts'
import type { AppEnv } from './request-context.ts'

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']
/** Supervisors ask them at the address of the process, such as the address of a pod. */
const probes = ['/healthz', '/readyz']

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

/**
 * Refuses an unknown Host (421), except of probes, and a foreign Origin (403). Gives every response an id and its headers.
 * See docs/security.md, "Requests".
 */
export function createEdge(
  { config, log, now, bodies }: Deps,
  responseHeaders: ResponseHeaders,
): MiddlewareHandler<AppEnv> {
  const hosts = new Set(servedOrigins(config).flatMap(hostHeaders))
  const isAllowedOrigin = originFilter(config)

  return async function edge(c, next) {
    const startedAt = now()
    // A fifth of the cost of `newId`; request ids need no order.
    const requestId = crypto.randomUUID()
    c.set('requestId', requestId)
    const request = c.req.raw
    const host = request.headers.get('host') ?? new URL(request.url).host
    if (!hosts.has(host.toLowerCase()) && !probes.includes(c.req.path)) {
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
    if (c.env.caller !== undefined) bodies.begin(request, c.env.caller)
    try {
      await next()
    } finally {
      bodies.release(request)
    }
    responseHeaders.finish(c.res, requestId)
    log.debug('request', {
      requestId,
      method: request.method,
      path: c.req.path,
      status: c.res.status,
      ms: now() - startedAt,
    })
  }
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
