/** How the grid measures itself. Types only: an optional feature implements them. Without it nothing is measured. */
import type { Config } from './config.ts'
import type { Log } from './lib/log.ts'

/** What a process counts of its work. No label names an account or an agent. */
export interface Metrics {
  call(call: FinishedCall): void
  commit(statements: number, ms: number, isFailed: boolean): void
  check(provider: string, outcome: 'passed' | 'objected' | 'failed', ms: number): void
  attempt(kind: string, isReached: boolean): void
}

/** A call of any door. `code` is the code of the error that refused it; undefined if it was answered. */
export interface FinishedCall {
  door: string
  /** A tool or a method that exists, or the pattern of a route. */
  verb: string
  code: string | undefined
  ms: number
}

/** The spans of a process. */
export interface Traces {
  /** `traceparent` is what the request says. It counts once the caller is known. */
  request(traceparent: () => string | null): CallSpans
  /** An attempt of the process itself to reach a server. */
  attempt(): CallSpans
  /** Send the last spans, for a few seconds at most. */
  close(): Promise<void>
}

/** What a call was, once it has ended. */
export interface EndedCall {
  method: string
  /** The pattern, never the path. */
  route: string
  status: number
  /** The code of the error that refused it. */
  code?: string
}

/** The spans of one call. What the call reads or answers decides whose trace it continues. */
export interface CallSpans {
  /** The account of the caller, once it is known. */
  account: string
  /** The caller is known: the call continues the trace that its request names. */
  trustCaller(): void
  /**
   * The call reads or answers a message. It continues the trace of the message, if it has no other yet and the message
   * is of the same account. Otherwise it links to it.
   */
  follow(message: { traceparent: string | null; isExternal: number }): void
  /** What to pass on as `traceparent`; null if the trace is not recorded. From here on that is decided. @see W3C Trace Context §3.2 */
  readonly traceparent: string | null
  /** The call turns out to be of this tool or method. Of two, the later one is the more precise. */
  verb(name: string): void
  /** Returns the function that ends a step of the call. */
  step(name: string): () => void
  /** A request that the call sends; undefined if the trace is not recorded. `end` gets the status of the response, or nothing if there was none. */
  sending(method: string): { traceparent: string; end(status?: number): void } | undefined
  /** The request has been answered. Most traces are not recorded under load, so what it was is asked for only then. */
  end(ended: () => EndedCall): void
  /** The attempt has ended. */
  endAttempt(name: string, isReached: boolean): void
}

export interface Telemetry {
  /** Undefined if the process counts nothing. */
  readonly metrics?: Metrics
  /** Undefined if the process sends no traces. */
  readonly traces?: Traces
}

/** Begin to measure a process, as its settings say. */
export type OpenTelemetry = (process: { config: Config; log: Log; now: () => number }) => Promise<Telemetry>
