/** What the parts of one process share. Types only: `cli/process.ts` creates the values. */
import type { Config, Limits } from './config.ts'
import type { GuardrailChecks } from './guardrails/providers.ts'
import type { Bodies } from './lib/http/body.ts'
import type { CallerHints } from './lib/http/client-address.ts'
import type { Log } from './lib/log.ts'
import type { Overload } from './lib/limits/overload.ts'
import type { SafeFetch } from './lib/outbound/safe-fetch.ts'
import type { SafeStream } from './lib/outbound/safe-stream.ts'
import type { Telemetry } from './telemetry.ts'

/** Why an email is sent. Each kind has one subject. */
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
  /** One plain, normalised address. */
  to: string
  kind: EmailKind
  subject: string
  text: string
  /** The link in the text. Printed in the log if no email server is configured. */
  link?: string
  /** The address that ends emails of this kind, which email programs offer as a button. @see RFC 8058 */
  unsubscribe?: string
}

/**
 * Email to people. The queue is in memory, so an email may be lost; the user then asks for another one.
 * See docs/people.md, "Signing in".
 */
export interface EmailSender {
  /** Whether an email server is configured. Without one, links are printed in the log, and pages should say so. */
  readonly isConfigured: boolean
  /** Queue an email. Returns at once and never throws; the log has the outcome. Callers apply the rate limits first. */
  send(email: OutgoingEmail): void
  /** Try everything in the queue once more, then stop; after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>
}

export interface Deps extends Telemetry {
  readonly config: Config
  readonly limits: Limits
  /** The only clock: milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
  /** The only way to send requests to servers that users name. */
  readonly safeFetch: SafeFetch
  /** The same, for any method and for responses that are read as they come. */
  readonly safeStream: SafeStream
  /** The same for servers that the operator names, which may be in private networks. */
  readonly operatorStream: SafeStream
  /** The texts of the TXT records of a name. */
  readonly resolveTxt: (name: string) => Promise<string[]>
  readonly email: EmailSender
  /** Ports this process listens on; `safeFetch` does not connect to them. Code that listens on another port adds it. */
  readonly ownPorts: Set<number>
  /** Reads request bodies, as many at a time as the process may hold. */
  readonly bodies: Bodies
  readonly callerHints: CallerHints
  readonly guardrailChecks: GuardrailChecks
  /** The package with the commands for clients; undefined if it was not built. */
  readonly readClientPackage: () => Promise<Uint8Array | undefined>
  /** Whether this process serves its requests too late. */
  readonly overload: Overload
  /** Aborted when the process begins to stop: `/readyz` answers 503, and waits and streams end. */
  readonly stopping?: AbortSignal
}
