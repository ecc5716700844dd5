/** What the whole process shares. Types only: the process is put together in `cli/`. */
import type { Config } from './config.ts'

/** Structured log; every line is one JSON object and keys are redacted. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

export interface Deps {
  readonly config: Config
  /** The only clock: milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
  /** Aborted when the process begins to stop: it is no longer ready, waits and streams end. */
  readonly stopping?: AbortSignal
}
