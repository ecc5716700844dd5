/** `/metrics` for Prometheus. See docs/operating/monitoring.md, "Metrics". */
import { GridError } from '../../errors.ts'
import { isSameSecret } from '../../lib/secrets.ts'
import { second } from '../../lib/time.ts'
import { requestPath } from '../../lib/http/request-path.ts'
import type { Handler } from '../../request-context.ts'
import type { Store } from '../../store/store.ts'
import { restError } from '../../wire.ts'
import type { Metrics } from './metrics.ts'
import { figures as tables, type WaitingFigures } from './store.ts'

/** @see https://prometheus.io/docs/specs/om/open_metrics_spec/ */
const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** How long values from the database are cached. */
const keptMs = 10 * second

/** Returns a function that resolves to the text of all metrics. Queries the database at most every 10 s. */
export function metricsText(store: Store): () => Promise<string> {
  // The metrics implementation is always this feature's own.
  const metrics = store.deps.metrics as Metrics
  let waiting: Promise<WaitingFigures> | undefined
  let askedAt = -Infinity
  const figures = () => {
    if (performance.now() - askedAt >= keptMs) {
      askedAt = performance.now()
      waiting = store.feature(tables).waiting(store.deps.now())
      waiting.catch(() => askedAt = -Infinity)
    }
    return waiting!
  }
  return async () =>
    await metrics.text({
      ...await figures(),
      ...store.load(),
      now: store.deps.now(),
      longestDelayMs: store.deps.overload.takeLongestDelay(),
      backupAt: store.backups.made?.at,
    })
}

/** Serves the metrics to clients that send `METRICS_TOKEN`. */
export function metricsRoute(store: Store, token: string): Handler {
  const text = metricsText(store)
  return async (c) => {
    const given = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? ''
    if (!isSameSecret(given, token)) {
      const error = new GridError('unauthenticated', 'Send METRICS_TOKEN as the bearer token.')
      const answer = restError(c.get('trace').refusal(error))
      answer.headers.set('WWW-Authenticate', 'Bearer')
      return answer
    }
    return inOpenMetrics(await text())
  }
}

/** Serves only `/metrics` on the separate port `METRICS_PORT`, without authentication. */
export function metricsOnly(store: Store): (request: Request) => Promise<Response> {
  const text = metricsText(store)
  return async (request) => {
    const isMetrics = requestPath(request) === '/metrics' && request.method === 'GET'
    return isMetrics ? inOpenMetrics(await text()) : new Response('Only GET /metrics is here.\n', { status: 404 })
  }
}

function inOpenMetrics(text: string): Response {
  return new Response(text, { headers: { 'Content-Type': openMetricsType, 'Cache-Control': 'no-store' } })
}
