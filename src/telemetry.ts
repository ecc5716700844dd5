/** The telemetry interface, which an optional feature implements. Without it, nothing is measured. */
import type { Config } from './config.ts'
import type { Log } from './lib/log.ts'

/** Metrics of a process. No label identifies an account or an agent. */
export interface Metrics {
  call(call: FinishedCall): void
  commit(statements: number, ms: number, isFailed: boolean): void
  check(provider: string, outcome: 'passed' | 'objected' | 'failed', ms: number): void
  attempt(kind: string, isReached: boolean): void
}

/** A finished call through any door. `code` is the error code of a refused call; undefined if it succeeded. */
export interface FinishedCall {
  door: string
  /** The name of an existing tool or method, or the route's pattern. */
  verb: string
  code: string | undefined
  ms: number
}

/** The spans of a process. */
export interface Traces {
  /** `traceparent` is the request's header. It is trusted only once the caller is known. */
  request(traceparent: () => string | null): CallSpans
  /** Starts the span of an outgoing attempt by the process itself. */
  attempt(): CallSpans
  /** Flushes the last spans, within a few seconds. */
  close(): Promise<void>
}

/** A call after its end, as described in its span. */
export interface EndedCall {
  method: string
  /** The route's pattern, never the actual path. */
  route: string
  status: number
  /** The error code of a refused call. */
  code?: string
}

/** The spans of one call. The messages that it reads or answers determine which trace it continues. */
export interface CallSpans {
  /** The caller's account, once it is known. */
  account: string
  /** Called when the caller is known. The call then continues the trace named in its request. */
  trustCaller(): void
  /**
   * Called for each message that the call reads or answers. If the call has no trace yet and belongs to the message's
   * account, it continues the message's trace. Otherwise it links to that trace.
   */
  follow(message: { traceparent: string | null; isExternal: number }): void
  /**
   * The `traceparent` to propagate. Null if the trace is not recorded. Reading it finalizes the sampling decision. @see
   * W3C Trace Context §3.2
   */
  readonly traceparent: string | null
  /** Names the call's tool or method. A later, more precise name replaces an earlier one. */
  verb(name: string): void
  /** Starts a step of the call. Returns the function that ends it. */
  step(name: string): () => void
  /**
   * Starts an outgoing request. Undefined if the trace is not recorded. `end` takes the response's status; undefined if
   * there was no response.
   */
  sending(method: string): { traceparent: string; end(status?: number): void } | undefined
  /** Ends the call's spans. `ended` is called only if needed, because most traces are not recorded under load. */
  end(ended: () => EndedCall): void
  /** Ends the attempt's span. */
  endAttempt(name: string, isReached: boolean): void
}

export interface Telemetry {
  /** Undefined if the process collects no metrics. */
  readonly metrics?: Metrics
  /** Undefined if the process exports no traces. */
  readonly traces?: Traces
}

/** Starts the process's telemetry, according to its settings. */
export type OpenTelemetry = (process: { config: Config; log: Log; now: () => number }) => Promise<Telemetry>
