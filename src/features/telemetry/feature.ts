/** Metrics for Prometheus, and traces for OpenTelemetry. See docs/operating/monitoring.md, "Metrics" and "Traces". */
import { settingsOf } from '../../config.ts'
import type { Feature } from '../../feature.ts'
import { metricsOnly, metricsRoute } from './routes.ts'
import { telemetrySettings } from './settings.ts'

export const telemetry: Feature = {
  name: 'telemetry',
  settings: { table: telemetrySettings },
  /** Loads the libraries only if the settings require them, because they load slowly. */
  async telemetry({ config, ...process }) {
    const { metricsToken, metricsPort, otlpEndpoint } = settingsOf(config, telemetrySettings)
    const isMeasured = metricsToken !== undefined || metricsPort !== undefined
    return {
      ...isMeasured && { metrics: new (await import('./metrics.ts')).Metrics() },
      ...otlpEndpoint !== undefined && { traces: new (await import('./traces.ts')).Traces(otlpEndpoint, process) },
    }
  },
  probes(store) {
    const { metricsToken } = settingsOf(store.deps.config, telemetrySettings)
    return store.deps.metrics && metricsToken !== undefined
      ? [['GET', '/metrics', metricsRoute(store, metricsToken)]]
      : []
  },
  port: {
    setting: 'METRICS_PORT',
    number: (config) => settingsOf(config, telemetrySettings).metricsPort,
    serve: (store) => store.deps.metrics && metricsOnly(store),
  },
}
