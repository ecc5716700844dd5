/** Dependencies shared by the parts of one process. Types only: `cli/process.ts` creates the values. */
import type { Config, Limits } from './config.ts'
import type { GuardrailChecks } from './guardrails/providers.ts'
import type { Bodies } from './lib/http/body.ts'
import type { CallerHints } from './lib/http/client-address.ts'
import type { Log } from './lib/log.ts'
import type { Overload } from './lib/limits/overload.ts'
import type { SafeFetch } from './lib/outbound/safe-fetch.ts'
import type { SafeStream } from './lib/outbound/safe-stream.ts'
import type { Telemetry } from './telemetry.ts'

/** The reason for an email. Each kind has its own subject. */
type EmailKind =
  | 'verify_address'
  | 'sign_in'
  | 'password_reset'
  | 'invitation'
  | 'claim'
  | 'password_changed'
  | 'address_changed'
  | 'second_factor_changed'
  | 'conversation_paused'
  | 'digest'

export interface OutgoingEmail {
  /** A single address without display name, normalised. */
  to: string
  kind: EmailKind
  subject: string
  text: string
  /** The link in the text. It is logged if no email server is configured. */
  link?: string
  /** The unsubscribe address for emails of this kind, which email clients offer as a button. @see RFC 8058 */
  unsubscribe?: string
}

/**
 * Sends email to people. The queue is in memory, so an email can be lost. The user can then request another one. See
 * docs/people.md, "Signing in".
 */
export interface EmailSender {
  /** Whether an email server is configured. Without one, links go to the log, and pages should say so. */
  readonly isConfigured: boolean
  /** Queues an email. Never throws, and logs the outcome. Callers must apply rate limits first. */
  send(email: OutgoingEmail): void
  /** Retries all queued emails once, then stops, within `graceMs`. */
  close(graceMs: number): Promise<void>
}

export interface Deps extends Telemetry {
  readonly config: Config
  readonly limits: Limits
  /** The wall clock, in milliseconds since the epoch. No code may use another clock. */
  readonly now: () => number
  readonly log: Log
  /** Sends requests to servers named by users. No code may bypass it. */
  readonly safeFetch: SafeFetch
  /** Like `safeFetch`, but supports any method and streams the response. */
  readonly safeStream: SafeStream
  /** Like `safeStream`, but for servers named by the operator, which may be in private networks. */
  readonly operatorStream: SafeStream
  /** Resolves a name's TXT records. */
  readonly resolveTxt: (name: string) => Promise<string[]>
  readonly email: EmailSender
  /**
   * Ports on which this process listens. `safeFetch` refuses to connect to them. Code that opens another port must add
   * it here.
   */
  readonly ownPorts: Set<number>
  /** Reads request bodies within the process's memory limit. */
  readonly bodies: Bodies
  readonly callerHints: CallerHints
  readonly guardrailChecks: GuardrailChecks
  /** Reads the package with the client commands. Undefined if it was not built. */
  readonly readClientPackage: () => Promise<Uint8Array | undefined>
  /** Detects whether this process is falling behind with requests. */
  readonly overload: Overload
  /** Aborted when the process begins to shut down. Then `/readyz` responds with 503, and waits and streams end. */
  readonly stopping?: AbortSignal
}
