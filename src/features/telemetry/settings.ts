import * as z from 'zod'
import { setting } from '../../config/settings.ts'
import { value } from '../../config/values.ts'

export const telemetrySettings = {
  /** Without this setting and `metricsPort`, no metrics are collected. */
  metricsToken: setting(
    'METRICS_TOKEN',
    'Token with which Prometheus reads /metrics.',
    value('at least 16 characters', z.string().min(16).optional()),
    { isSecret: true },
  ),
  metricsPort: setting(
    'METRICS_PORT',
    'Port that serves /metrics without a token, on the address HOST. Do not make it public.',
    value('a number from 1 to 65535', z.coerce.number().int().min(1).max(65_535).optional()),
  ),
  /** OpenTelemetry defines the names of this variable and of the exporter's other settings. */
  otlpEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'Collector to which traces are sent, with OTLP over HTTP. It may be in a private network.',
    value('an http or https URL', z.url({ protocol: /^https?$/ }).optional()),
  ),
}
