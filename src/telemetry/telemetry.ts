/** What a process tells of its work, if settings ask for it. See docs/operating.md, "Health and logs". */
import type { Config } from '../config.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from './metrics.ts'
import type { Traces } from './traces.ts'

/** Their libraries take a while to load, so they are loaded only then. */
export async function openTelemetry(
  { config, ...process }: { config: Config; log: Log; now: () => number },
): Promise<{ metrics?: Metrics; traces?: Traces }> {
  const { metricsToken, metricsPort, otlpEndpoint } = config
  const isMeasured = metricsToken !== undefined || metricsPort !== undefined
  return {
    ...isMeasured && { metrics: new (await import('./metrics.ts')).Metrics() },
    ...otlpEndpoint !== undefined && { traces: new (await import('./traces.ts')).Traces(otlpEndpoint, process) },
  }
}
