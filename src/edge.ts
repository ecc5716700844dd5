/** Middleware for every request: logging, Host and Origin checks, and response headers. */
import type { MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import { GridError } from './errors.ts'
import { CallTrace } from './call-trace.ts'
import { isForPrograms } from './lib/http/request-path.ts'
import type { ResponseHeaders } from './lib/http/response-headers.ts'
import { TokenBuckets } from './lib/limits/token-buckets.ts'
import { minute, second } from './lib/time.ts'
import type { AppEnv } from './request-context.ts'

/** Limits log lines per caller and reason, so that a repeatedly refused caller cannot flood the log. */
const linesPerReason = { perSecond: second / minute, burst: 10 }
const slowMs = second

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']
/** Paths that supervisors request at the process's own address, such as a pod's. */
const probes = ['/healthz', '/readyz', '/metrics']

/** Returns the origins that serve pages and programs. They come from the settings only, never from a request. */
export function servedOrigins({ baseUrl, appUrl }: Config): string[] {
  return allSpellings([baseUrl, appUrl])
}

/** Returns the origins that serve programs: the page origins and `EXTRA_BASE_URLS`. */
export function programOrigins({ baseUrl, appUrl, extraBaseUrls }: Config): string[] {
  return allSpellings([baseUrl, appUrl, ...extraBaseUrls])
}

/** Adds the other two loopback names to each loopback origin. */
function allSpellings(origins: readonly string[]): string[] {
  const spelled = origins.flatMap((origin) => {
    const url = new URL(origin)
    if (!loopbackHosts.includes(url.hostname)) return [origin]
    const port = url.port ? `:${url.port}` : ''
    return loopbackHosts.map((host) => `${url.protocol}//${host}${port}`)
  })
  return [...new Set(spelled)]
}

/**
 * Returns a function that maps a request's Host to the served origin, or to undefined if that host is not served. It
 * ignores the scheme of the request's URL, which is wrong behind a TLS proxy.
 */
export function askedOrigin(config: Config): (request: Request) => string | undefined {
  const byHost = new Map<string, string>()
  for (const origin of programOrigins(config)) {
    for (const host of hostHeaders(origin)) if (!byHost.has(host)) byHost.set(host, origin)
  }
  return (request) => byHost.get(hostOf(request))
}

/**
 * Measures and traces each call. Logs refused and slow calls. Waiting for messages does not make a call slow. Runs
 * first, so that it includes calls that later middleware refuses. See docs/operating/monitoring.md, "Logs".
 */
export function createCallLog({ log, now, metrics, traces }: Deps): MiddlewareHandler<AppEnv> {
  const lines = new TokenBuckets(linesPerReason)

  return async function callLog(c, next) {
    const startedAt = now()
    const isProbe = probes.includes(c.req.path)
    const trace = new CallTrace(log, isProbe ? undefined : traces?.request(() => c.req.raw.headers.get('traceparent')))
    c.set('trace', trace)
    await next()
    const { method, path } = c.req
    const { requestId } = trace
    log.debug('request', { requestId, method, path, status: c.res.status, ms: now() - startedAt })
    if (trace.ended) void trace.ended.then(logCall, logCall)
    else logCall()

    function logCall(): void {
      const { account, code, tool } = trace
      const ms = now() - startedAt - (account?.waitingMs ?? 0)
      metrics?.call({ door: doorOf(path), verb: tool ?? routePath(c), code, ms })
      trace.spans?.end(() => ({ method, route: routePath(c), status: c.res.status, code }))
      if (code === undefined && ms <= slowMs) return
      // Callers without a credential share one bucket, because their number is unlimited.
      const reason = `${account?.account} ${account?.agent} ${code}`
      if (lines.take(reason, now()) > 0) return
      const called = tool === undefined ? { route: routePath(c) } : { tool }
      const outcome = code === undefined ? 'A call was slow' : 'A call was refused'
      log.info(outcome, { requestId, door: doorOf(path), ...called, code, ms, ...account })
    }
  }
}

const doors: Record<string, string> = {
  ...{ mcp: 'mcp', a2a: 'a2a', api: 'rest', in: 'incoming', oauth: 'oauth' },
  ...{ healthz: 'probe', readyz: 'probe', metrics: 'probe' },
}

function doorOf(path: string): string {
  return path === '/api/v1/grid' ? 'mcp' : doors[path.split('/')[1]] ?? 'web'
}

/**
 * Refuses an unknown Host (421) except for probes, and a foreign Origin (403). Sets the headers of every response. See
 * docs/security.md, "Requests".
 */
export function createEdge(
  { config, bodies }: Deps,
  responseHeaders: ResponseHeaders,
): MiddlewareHandler<AppEnv> {
  const origins = servedOrigins(config)
  const originOf = askedOrigin(config)
  const isAllowedOrigin = originFilter(config)

  return async function edge(c, next) {
    const request = c.req.raw
    if (!probes.includes(c.req.path)) {
      const asked = originOf(request)
      if (asked === undefined) throw unknownHost(hostOf(request))
      if (!origins.includes(asked) && !isForPrograms(c.req.path)) {
        throw new GridError('unknown_host', `${asked} serves only programs. Pages are at ${config.appUrl}.`)
      }
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
    // Hono answers HEAD with the GET handler and drops the body, which could keep a slot or a file open.
    if (request.method === 'HEAD') await c.res.body?.cancel()
    responseHeaders.finish(c.res, c.get('trace').requestId)
  }

  /** The error message omits the addresses in `EXTRA_BASE_URLS`, because they are not public. */
  function unknownHost(host: string): GridError {
    if (host === '') return new GridError('invalid_request', 'The request has no Host header.')
    return new GridError(
      'unknown_host',
      `${host.slice(0, maxEcho).replace(/[^\w.:[\]-]/g, '?')} is not served here, only ${
        origins.join(', ')
      }. Set BASE_URL and APP_URL to the public addresses, or add this one to EXTRA_BASE_URLS.`,
    )
  }
}

/** Number of characters of a Host header that an error message repeats. */
const maxEcho = 100

/** Returns the Host in lower case, without a trailing dot. Empty if the request has none, which HTTP/1.0 allows. */
function hostOf(request: Request): string {
  const host = request.headers.get('host') ?? (URL.canParse(request.url) ? new URL(request.url).host : '')
  return host.toLowerCase().replace(/\.(?=:\d+$|$)/, '')
}

/** Returns the possible Host headers of an origin. The default port of its scheme may be omitted. @see RFC 9110 §7.2 */
function hostHeaders(origin: string): string[] {
  const { protocol, host, hostname, port } = new URL(origin)
  return port ? [host] : [host, `${hostname}:${protocol === 'https:' ? 443 : 80}`]
}

/**
 * At a loopback address, allows only loopback origins, the grid's own origins and listed ones, regardless of `*`. This
 * prevents DNS rebinding.
 */
function originFilter(config: Config): (origin: string) => boolean {
  const listed = [...programOrigins(config), ...config.allowedOrigins]
  if (loopbackHosts.includes(new URL(config.baseUrl).hostname)) {
    return (origin) =>
      listed.includes(origin) || (URL.canParse(origin) && loopbackHosts.includes(new URL(origin).hostname))
  }
  return listed.includes('*') ? () => true : (origin) => listed.includes(origin)
}
