/** The interface of guardrail providers: configuration, input and verdict. */
import * as z from 'zod'
import { atMost } from '../lib/input.ts'
import type { SafeFetch } from '../lib/outbound/safe-fetch.ts'

export interface GuardedText {
  /** The text to be stored and read: the message text, then the text of each part, joined by line feeds. */
  readonly text: string
  /** Stretches of the text in order that readers may put together with nothing between them, if there are several. */
  readonly pieces?: readonly Span[]
  readonly direction: 'inbound' | 'outbound'
  readonly sender: string
  readonly recipient: string
}

/** A stretch of the text, in UTF-16 code units; `end` is exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** If there are more spans, the whole text is masked. */
export const maxSpans = 1_000

export interface Verdict {
  /** The kinds found, such as `email address`; empty for none. Senders see them, so they never contain a pattern. */
  readonly kinds: readonly string[]
  /** The known positions. A redaction without spans and replacement masks the whole text. */
  readonly spans?: readonly Span[]
  /** The text to deliver instead, if the provider writes one. */
  readonly replacement?: string
  /** The raw answer of the service, for people who test the guardrail. Never stored. */
  readonly raw?: unknown
}

export interface ProviderTools {
  /** The only way out. */
  readonly fetch: SafeFetch
  /** The decrypted token of the guardrail, if it has one. */
  readonly token?: string
  readonly signal: AbortSignal
  /** The clock: milliseconds since the epoch. */
  readonly now: () => number
}

/** Checks one text. A provider that cannot answer throws; `onFailure` of the guardrail then decides. */
export interface GuardrailCheck {
  (guarded: GuardedText, tools: ProviderTools): Verdict | Promise<Verdict>
  /** Approximate memory use, also after a run; undefined for a few kilobytes. */
  readonly bytes?: number
}

/** A kind of guardrail that accounts can configure. */
export interface Provider<Config = unknown> {
  readonly id: string
  readonly name: string
  readonly description: string
  /** `local` needs only its configuration and the text. `remote` calls a service. */
  readonly kind: 'local' | 'remote'
  /** The setting with the URL of the service that gets the texts, if it is remote. */
  readonly address?: string
  readonly config: z.ZodType<Config>
  readonly needsToken: boolean
  /** Check the format of a new token. Throws a `RefusedConfig` if it cannot work. */
  checkToken?(token: string): void
  /** Create the check of a configuration. Throws a `RefusedConfig` if it cannot work, for example a wrong pattern. */
  prepare(config: Config): GuardrailCheck
}

/** A configuration of the right shape that cannot work. */
export class RefusedConfig extends Error {
  /** The path of the field, such as `patterns.0`; `token` for the token. */
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

/** Every admin sees the URL, so it may not contain credentials. They belong in the token. */
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2_000)
  .refine((text) => !/^[a-z]+:\/\/[^/]*@/i.test(text), 'must have no user or password; use the token')

/** The URL of the service that gets the texts; undefined for a local provider. */
export function serviceOf({ address }: Provider, config: unknown): URL | undefined {
  return address === undefined ? undefined : new URL((config as Record<string, string>)[address])
}

export const text = (max: number) => atMost(z.string().min(1), max)

export const threshold = z.number().min(0).max(1)

/**
 * Why a remote provider gave no verdict. `refused`: the address is not allowed. `incomplete`: the answer broke off, or
 * is not HTTP, not UTF-8 or compressed. `rejected`: another status that is neither 2xx nor 5xx. `wrong_token`: the
 * token does not have the format that the service needs. With `refused` and `wrong_token`, nothing was sent.
 * `too_slow`: a check in the grid used up its time.
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

/** The message is for the operator. It never contains the token, the text or the answer. */
export class ProviderFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string) {
    super(message)
    this.name = 'ProviderFailure'
    this.reason = reason
  }
}

/** Tenants do not see which one it was, so they cannot probe networks with a guardrail. */
const unreached: readonly FailureReason[] = [
  'refused',
  'not_connected',
  'timeout',
  'redirected',
  'too_large',
  'incomplete',
]

/** The part of a failure that a tenant may know. See docs/security.md, "Outgoing requests". */
export function failureForTenants({ reason, message }: ProviderFailure): { reason: string; message: string } {
  return unreached.includes(reason)
    ? { reason: 'unreachable', message: 'The service was not reached, or gave no usable answer in time.' }
    : { reason, message }
}

/** What a check says of a text, at the latest when `tools.signal` is aborted: a late answer is dropped. */
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
  return new ProviderFailure('timeout', 'The provider gave no answer in time.')
}
