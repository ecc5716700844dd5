/** What the whole process shares. Types only: the process is put together in `cli/`. */
import type { Config } from './config.ts'
import type { SafeFetch } from './lib/safe-fetch.ts'

/** Structured log; every line is one JSON object and keys are redacted. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** Why a mail is sent. Each kind has one subject. */
export type MailKind =
  | 'verify_address'
  | 'sign_in'
  | 'password_reset'
  | 'invitation'
  | 'claim'
  | 'password_changed'
  | 'address_changed'

export interface OutgoingMail {
  /** One plain address, normalised. */
  to: string
  kind: MailKind
  subject: string
  text: string
  /** The link of the text; printed in the log when mail is not configured. */
  link?: string
}

/** Mail to people. Queued in memory: a mail may be lost, and then the person asks for another one. Security 7.3. */
export interface Mail {
  /** Whether mails leave the process. Otherwise links stand in its log, and pages should say so. */
  readonly isConfigured: boolean
  /** Queue a mail. Returns at once and never throws; the log says what became of it. Limits come before: `grid/send-mail.ts`. */
  send(mail: OutgoingMail): void
  /** Try what is queued once more and end, after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>
}

export interface Deps {
  readonly config: Config
  /** The only clock: milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
  /** The only way out to servers that users name. */
  readonly safeFetch: SafeFetch
  readonly mail: Mail
  /** Ports this process listens on: `safeFetch` does not connect to them. Who listens on another one adds it. */
  readonly ownPorts: Set<number>
  /** Aborted when the process begins to stop: it is no longer ready, waits and streams end. */
  readonly stopping?: AbortSignal
}
