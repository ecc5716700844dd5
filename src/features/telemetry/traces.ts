/**
 * The spans of a process, exported over OTLP. No attribute contains an account, an agent or a text. See
 * docs/operating/monitoring.md, "Traces".
 */
import {
  type Attributes,
  type Context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api'
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, ParentBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { setTimeout } from 'node:timers/promises'
import { TokenBuckets } from '../../lib/limits/token-buckets.ts'
import type { Log } from '../../lib/log.ts'
import { minute, second } from '../../lib/time.ts'
import { version } from '../../lib/version.ts'
import type * as core from '../../telemetry.ts'

/** Maximum number of traces that a call links to when it reads many messages. */
const maxLinks = 10
/** Maximum number of steps per call. Without a limit, a stream that waits for hours would collect steps endlessly. */
const maxSteps = 50
/** Other methods become `_OTHER`: callers can invent names. @see OpenTelemetry, semantic conventions of HTTP */
const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/**
 * Limits new traces per process, and calls that continue a trace per account, because any agent can name a trace. A
 * span costs as much as a small statement, so spans above the limit are dropped.
 */
const recordedRates = { begun: { perSecond: 20, burst: 50 }, continued: { perSecond: 50, burst: 200 } }
/** Time limit for sending the last spans when the process stops. */
const closeMs = 3 * second

export class Traces implements core.Traces {
  readonly #provider: TracerProvider
  readonly #recorded = {
    begun: new TokenBuckets(recordedRates.begun),
    continued: new TokenBuckets(recordedRates.continued),
  }
  readonly #tracer: Tracer
  readonly #now: () => number
  readonly #warn: (error: unknown) => void

  /** `endpoint` is the collector's URL, to which `/v1/traces` is appended. */
  constructor(endpoint: string, { log, now }: { log: Log; now: () => number }) {
    this.#now = now
    const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
    let warnedAt = -Infinity
    this.#warn = (error) => {
      if (performance.now() - warnedAt < minute) return
      warnedAt = performance.now()
      log.warn('Traces could not be sent', { error })
    }
    setGlobalErrorHandler(this.#warn)
    const own = resourceFromAttributes({ 'service.name': 'agent-grid', 'service.version': version })
    this.#provider = new TracerProvider({
      resource: own.merge(detectResources({ detectors: [envDetector] })),
      sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
      spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
    })
    this.#tracer = this.#provider.getTracer('agent-grid')
  }

  request(traceparent: () => string | null): CallSpans {
    return new CallSpans(this.#tracer, this.#recorded, this.#now(), SpanKind.SERVER, traceparent)
  }

  attempt(): CallSpans {
    return new CallSpans(this.#tracer, this.#recorded, this.#now(), SpanKind.INTERNAL, () => null)
  }

  async close(): Promise<void> {
    await Promise.race([this.#provider.shutdown().catch(this.#warn), setTimeout(closeMs, undefined, { ref: false })])
  }
}

type Recorded = Record<keyof typeof recordedRates, TokenBuckets>

interface Step {
  name: string
  since: number
  until: number
}

/**
 * The spans of one call. Which trace the call continues depends on what it reads or returns, so its own span is created
 * only when the span's id is needed, or at the end. Times are epoch milliseconds, with fractions.
 */
class CallSpans implements core.CallSpans {
  account = ''
  readonly #tracer: Tracer
  readonly #recorded: Recorded
  readonly #kind: SpanKind
  /** Start of the monotonic clock, in epoch milliseconds. It times steps, because the wall clock may be adjusted. */
  readonly #epoch: number
  readonly #since: number
  readonly #given: () => string | null
  #parent: SpanContext | undefined
  readonly #links: Link[] = []
  readonly #steps: Step[] = []
  #verb: Omit<Step, 'until'> | undefined
  /** The rate limit that was exceeded. */
  #leftOut: keyof Recorded | undefined
  #made: { span: Span; context: Context } | undefined

  constructor(
    tracer: Tracer,
    recorded: Recorded,
    at: number,
    kind: SpanKind,
    given: () => string | null,
  ) {
    this.#epoch = at - performance.now()
    this.#since = at
    this.#tracer = tracer
    this.#recorded = recorded
    this.#kind = kind
    this.#given = given
  }

  trustCaller(): void {
    this.#continue(this.#given())
  }

  follow(message: { traceparent: string | null; isExternal: number }): void {
    if (message.isExternal === 0) this.#continue(message.traceparent)
    else this.#link(contextOf(message.traceparent))
  }

  #continue(traceparent: string | null): void {
    const context = contextOf(traceparent)
    if (this.#parent || this.#made) return this.#link(context)
    this.#parent = context
  }

  #link(context: SpanContext | undefined): void {
    if (!context) return
    const own = this.#made?.span.spanContext() ?? this.#parent
    const isKnown = [own, ...this.#links.map((link) => link.context)].some((known) =>
      known?.traceId === context.traceId
    )
    if (isKnown || this.#links.length >= maxLinks) return
    this.#links.push({ context })
    this.#made?.span.addLink({ context })
  }

  get traceparent(): string | null {
    return this.#isRecorded ? traceparentOf(this.#own.span) : null
  }

  get #own(): { span: Span; context: Context } {
    if (this.#made) return this.#made
    const parent = this.#parent ? trace.setSpanContext(ROOT_CONTEXT, this.#parent) : ROOT_CONTEXT
    const span = this.#tracer.startSpan(
      'call',
      { kind: this.#kind, startTime: this.#since, links: this.#links },
      parent,
    )
    return this.#made = { span, context: trace.setSpan(ROOT_CONTEXT, span) }
  }

  verb(name: string): void {
    this.#verb = { name, since: this.#clock() }
  }

  step(name: string): () => void {
    const since = this.#clock()
    return () => {
      if (this.#steps.length < maxSteps) this.#steps.push({ name, since, until: this.#clock() })
    }
  }

  sending(method: string): { traceparent: string; end(status?: number): void } | undefined {
    if (!this.#isRecorded) return undefined
    const attributes = { 'http.request.method': method }
    const span = this.#tracer.startSpan(
      method,
      { kind: SpanKind.CLIENT, startTime: this.#clock(), attributes },
      this.#own.context,
    )
    return {
      traceparent: traceparentOf(span),
      end: (status) => {
        if (status !== undefined) span.setAttribute('http.response.status_code', status)
        if (status === undefined || status >= 400) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end(this.#clock())
      },
    }
  }

  end(ended: () => core.EndedCall): void {
    if (!this.#isRecorded) return
    const { method: given, route, status, code } = ended()
    const method = knownMethods.includes(given) ? given : '_OTHER'
    const isFault = status >= 500 || code === 'internal'
    this.#finish(`${method} ${route}`, isFault, {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      ...(code !== undefined && { 'error.type': code }),
    })
  }

  endAttempt(name: string, isReached: boolean): void {
    if (this.#isRecorded) this.#finish(name, !isReached, {})
  }

  get #isRecorded(): boolean {
    if (this.#made) return this.#made.span.isRecording()
    if (this.#parent && !(this.#parent.traceFlags & TraceFlags.SAMPLED)) return false
    const rate = this.#parent ? 'continued' : 'begun'
    if (this.#leftOut === rate) return false
    if (this.#recorded[rate].take(this.#parent ? this.account : '', performance.now()) > 0) {
      this.#leftOut = rate
      return false
    }
    return this.#own.span.isRecording()
  }

  #clock(): number {
    return this.#epoch + performance.now()
  }

  #finish(name: string, isFault: boolean, attributes: Attributes): void {
    const { span, context } = this.#own
    span.updateName(name)
    span.setAttributes(attributes)
    if (isFault) span.setStatus({ code: SpanStatusCode.ERROR })
    const until = this.#clock()
    const verb = this.#verb && this.#tracer.startSpan(this.#verb.name, { startTime: this.#verb.since }, context)
    const inner = verb ? trace.setSpan(ROOT_CONTEXT, verb) : context
    for (const step of this.#steps) {
      this.#tracer.startSpan(step.name, { startTime: step.since }, inner).end(step.until)
    }
    verb?.end(until)
    span.end(until)
  }
}

function contextOf(traceparent: string | null): SpanContext | undefined {
  const context = traceparent === null ? null : parseTraceParent(traceparent)
  return context && isSpanContextValid(context) ? { ...context, isRemote: true } : undefined
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}
