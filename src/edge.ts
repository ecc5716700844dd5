/**
 * Middleware for every request: checks Host and Origin, sets the request id and the response headers, logs the
 * request.
 */
import type { MiddlewareHandler } from 'hono'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { GridError } from './errors.ts'
import type { ResponseHeaders } from './lib/response-headers.ts'
import type { AppEnv } from './request-context.ts'

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

/**
 * Refuses an unknown Host (421) and a foreign Origin (403). Gives every response an id and its headers.
 * See docs/security.md, "Request edge".
 */
export function edge({ config, log, now, bodies }: Deps, responseHeaders: ResponseHeaders): MiddlewareHandler<AppEnv> {
  const hosts = new Set(servedOrigins(config).flatMap(hostHeaders))
  const isAllowedOrigin = originFilter(config)

  return async function edge(c, next) {
    const startedAt = now()
    // A fifth of the cost of `newId`; request ids need no order.
    const requestId = crypto.randomUUID()
    c.set('requestId', requestId)

    const host = c.req.header('host') ?? new URL(c.req.url).host
    if (!hosts.has(host.toLowerCase())) {
      throw new GridError(
        'unknown_host',
        'This host is not served here. Set BASE_URL and APP_URL to the public addresses.',
      )
    }
    const origin = c.req.header('origin')
    if (origin !== undefined && !isAllowedOrigin(origin)) {
      throw new GridError(
        'forbidden_origin',
        'This origin may not call the grid. ALLOWED_ORIGINS lists the allowed origins.',
      )
    }
    if (c.env.caller) bodies.begin(c.req.raw, c.env.caller)
    try {
      await next()
    } finally {
      bodies.release(c.req.raw)
    }
    responseHeaders.finish(c.res, requestId)
    log.debug('request', {
      requestId,
      method: c.req.method,
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
