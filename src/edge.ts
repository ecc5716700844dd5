/** What every request passes before its door: a known Host, an allowed Origin, an id, the headers of its answer, the log. */
import type { MiddlewareHandler } from 'hono'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { GridError } from './errors.ts'
import type { Connection } from './listen.ts'
import type { Answers } from './lib/response-headers.ts'

/** What a handler finds in Hono's context. */
export interface AppEnv {
  Bindings: Connection
  Variables: { requestId: string }
}

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']

/** The origins this grid answers on, from configuration alone: never from a request. */
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
 * Refuses an unknown Host (421) and a foreign Origin (403); gives every answer an id and its headers.
 * Security: section 6.1, O16, O19.
 */
export function edge({ config, log, now }: Deps, answers: Answers): MiddlewareHandler<AppEnv> {
  const hosts = new Set(servedOrigins(config).flatMap(hostSpellings))
  const allowsOrigin = originRule(config)

  return async function edge(c, next) {
    const startedAt = now()
    // Nothing is sorted by it, and it costs a fifth of a `newId`.
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
    if (origin !== undefined && !allowsOrigin(origin)) {
      throw new GridError(
        'forbidden_origin',
        'This origin may not call the grid. ALLOWED_ORIGINS lists those that may.',
      )
    }
    await next()
    answers.finish(c.res, requestId)
    log.debug('request', {
      requestId,
      method: c.req.method,
      path: c.req.path,
      status: c.res.status,
      ms: now() - startedAt,
    })
  }
}

/** A host with and, where it is the scheme's own, also without its port. @see RFC 9110 §7.2 */
function hostSpellings(origin: string): string[] {
  const { protocol, host, hostname, port } = new URL(origin)
  return port ? [host] : [host, `${hostname}:${protocol === 'https:' ? 443 : 80}`]
}

/** On a loopback address only loopback pages and our own may call, which defeats DNS rebinding. */
function originRule(config: Config): (origin: string) => boolean {
  const own = servedOrigins(config)
  if (loopbackHosts.includes(new URL(config.baseUrl).hostname)) {
    return (origin) =>
      own.includes(origin) || (URL.canParse(origin) && loopbackHosts.includes(new URL(origin).hostname))
  }
  if (config.allowedOrigins.includes('*')) return () => true
  return (origin) => own.includes(origin) || config.allowedOrigins.includes(origin)
}
