/** An OpenTelemetry collector that stores received spans. @see https://opentelemetry.io/docs/specs/otlp/#otlphttp */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CollectedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  links: { traceId: string; spanId: string }[]
  status: { code: number }
}

export type Collector = Awaited<ReturnType<typeof startCollector>>

/** Starts the collector on a free port. All its responses have the status `status`. */
export async function startCollector(status = 200) {
  const spans: CollectedSpan[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => text += chunk).on('end', () => {
      bodies.push(text)
      for (const { scopeSpans } of JSON.parse(text).resourceSpans) {
        for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** All received data, as JSON. */
    text: () => bodies.join('\n'),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Formats a trace's spans as lines, each below its parent. Siblings are in the order in which they started. */
export function treeOf(spans: readonly CollectedSpan[], traceId: string): string {
  const ofTrace = spans.filter((span) => span.traceId === traceId)
    .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
  const below = (parent: string | undefined, depth: number): string[] =>
    ofTrace.filter((span) => (span.parentSpanId || undefined) === parent).flatMap((span) => [
      `${'  '.repeat(depth)}${span.name}`,
      ...below(span.spanId, depth + 1),
    ])
  return below(undefined, 0).join('\n')
}
