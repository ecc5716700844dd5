/** The interface of guardrail providers: configuration, input and verdict. */
import * as z from 'zod'
import { atMost } from '../lib/input.ts'
import type { SafeFetch } from '../lib/outbound/safe-fetch.ts'

export interface GuardedText {
  /** The text to store and read: the message text followed by the text of each part, joined by line feeds. */
  readonly text: string
  /** The spans of several pieces, in the order in which readers may join them without separators. */
  readonly pieces?: readonly Span[]
  readonly direction: 'inbound' | 'outbound'
  readonly sender: string
  readonly recipient: string
}

/** A span of the text, in UTF-16 code units; `end` is exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** If there are more spans than this, the complete text is masked. */
export const maxSpans = 1_000

export interface Verdict {
  /** The kinds found, such as `email address`. Senders see them, so they never contain a pattern. */
  readonly kinds: readonly string[]
  /** The positions of the findings. A redaction with neither spans nor replacement masks the complete text. */
  readonly spans?: readonly Span[]
  /** The text to deliver instead, if the provider rewrites it. */
  readonly replacement?: string
  /** The service's raw response, for people who test the guardrail. Never stored. */
  readonly raw?: unknown
}

export interface ProviderTools {
  /** Sends requests. Providers must not bypass it. */
  readonly fetch: SafeFetch
  /** The guardrail's decrypted token. Undefined if it has none. */
  readonly token?: string
  readonly signal: AbortSignal
  /** The clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** Checks one text. Throws if the provider cannot answer. The guardrail's `onFailure` then determines what happens. */
export interface GuardrailCheck {
  (guarded: GuardedText, tools: ProviderTools): Verdict | Promise<Verdict>
  /** Approximate memory use, including after a run. Undefined if it is only a few kilobytes. */
  readonly bytes?: number
}

/** A kind of guardrail that accounts can configure. */
export interface Provider<Config = unknown> {
  readonly id: string
  readonly name: string
  readonly description: string
  /** `local` needs only its configuration and the text. `remote` calls a service. */
  readonly kind: 'local' | 'remote'
  /** Name of a remote provider's setting that contains the URL of the service that receives the texts. */
  readonly address?: string
  readonly config: z.ZodType<Config>
  readonly needsToken: boolean
  /** Checks the format of a new token. Throws a `RefusedConfig` if it cannot work. */
  checkToken?(token: string): void
  /**
   * Creates the check for a configuration. Throws a `RefusedConfig` if it cannot work, for example because of an
   * invalid pattern.
   */
  prepare(config: Config): GuardrailCheck
}

/** Error for a configuration that has the right shape but cannot work. */
export class RefusedConfig extends Error {
  /** The path of the field, such as `patterns.0`, or `token`. */
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

export function provider<Shape extends z.ZodRawShape>(
  { config, ...rest }:
    & Omit<Provider<z.output<z.ZodObject<Shape>>>, 'config' | 'needsToken'>
    & { config: Shape; needsToken?: boolean },
): Provider {
  return { needsToken: false, ...rest, config: z.strictObject(config) } as Provider
}

/** A URL without credentials, because every admin sees it. Credentials belong in the token. */
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2_000)
  .refine((text) => !/^[a-z]+:\/\/[^/]*@/i.test(text), 'must have no user or password; use the token')

/** Returns the URL of the service that receives the texts. Undefined for a local provider. */
export function serviceOf({ address }: Provider, config: unknown): URL | undefined {
  return address === undefined ? undefined : new URL((config as Record<string, string>)[address])
}

export const text = (max: number) => atMost(z.string().min(1), max)

export const threshold = z.number().min(0).max(1)

/**
 * Why a provider gave no verdict. `refused`: the address is not allowed. `incomplete`: the response was cut off, or is
 * not HTTP, not UTF-8 or compressed. `rejected`: a status other than 401, 403, 429, 2xx and 5xx. `wrong_token`: the
 * token does not have the service's format. With `refused` and `wrong_token`, nothing was sent. `too_slow`: a local
 * check exceeded its time limit.
 */
export type FailureReason =
  | 'refused'
  | 'not_connected'
  | 'timeout'
  | 'redirected'
  | 'too_large'
  | 'incomplete'
  | 'unauthorized'
  | 'rate_limited'
  | 'rejected'
  | 'service_error'
  | 'unusable_answer'
  | 'wrong_token'
  | 'too_slow'

/** A provider's failure. The message is for the operator. It never contains the token, the text or the response. */
export class ProviderFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string) {
    super(message)
    this.name = 'ProviderFailure'
    this.reason = reason
  }
}

/** Reasons that tenants cannot distinguish, so that they cannot probe networks with a guardrail. */
const unreached: readonly FailureReason[] = [
  'refused',
  'not_connected',
  'timeout',
  'redirected',
  'too_large',
  'incomplete',
]

/** Returns the part of a failure that a tenant may see. See docs/security.md, "Outgoing requests". */
export function failureForTenants({ reason, message }: ProviderFailure): { reason: string; message: string } {
  return unreached.includes(reason)
    ? { reason: 'unreachable', message: 'The service was not reached, or gave no usable answer in time.' }
    : { reason, message }
}

/** Runs a check until `tools.signal` aborts. Later answers are dropped. */
export async function runCheck(check: GuardrailCheck, guarded: GuardedText, tools: ProviderTools): Promise<Verdict> {
  const { signal } = tools
  if (signal.aborted) throw timeout()
  const verdict = check(guarded, tools)
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(timeout())
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([verdict, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function timeout(): ProviderFailure {
  return new ProviderFailure('timeout', 'The provider did not answer in time.')
}
