/** Sends the requests of remote providers and classifies their failures. */
import type { z } from 'zod'
import { check } from '../../lib/input.ts'
import { plainName } from '../../lib/names.ts'
import { RemoteError, type RemoteErrorReason } from '../../lib/outbound/remote-error.ts'
import type { SafeResponse } from '../../lib/outbound/safe-fetch.ts'
import { second } from '../../lib/time.ts'
import { joined } from '../local/view.ts'
import { type FailureReason, ProviderFailure, type ProviderTools, type Span } from '../provider.ts'

interface Question<Answer> {
  url: URL
  body: unknown
  /** Returns headers in addition to those for JSON. Called for each attempt with the text of the body. */
  headers?: (body: string) => Record<string, string>
  /** The response's schema. Other fields are ignored. */
  answer: z.ZodType<Answer>
  /** Maximum size of the response in bytes, and maximum number of its JSON values. `safeFetch` sets the defaults. */
  maxBytes?: number
  maxTokens?: number
}

interface Answered<Answer> {
  readonly answer: Answer
  readonly raw: unknown
}

/** Time limit for an abandoned request. The check's own deadline is `tools.signal`. */
const timeoutMs = 15 * second

/** Queries a service. Retries a failed connection once, because nothing was sent. */
export async function ask<Answer>(tools: ProviderTools, question: Question<Answer>): Promise<Answered<Answer>> {
  const response = await post(tools, question)
  const { host } = question.url
  if (response.status < 200 || response.status > 299) throw statusFailure(response.status, host)
  const raw = jsonOf(response, question, host)
  const checked = check(question.answer, raw)
  if (!checked.success) throw unusableAnswer(host, 'its fields do not match the interface')
  return { answer: checked.data, raw }
}

/** Returns the failure for a response that does not match the interface. `why` is a constant string. */
export function unusableAnswer(host: string, why: string): ProviderFailure {
  return new ProviderFailure('unusable_answer', `The answer of ${host} cannot be used: ${why}.`)
}

/** Returns `Authorization: Bearer` with the token. @see RFC 6750 §2.1 */
export function bearer({ token }: ProviderTools): Record<string, string> {
  return { Authorization: `Bearer ${headerValue(token)}` }
}

/** Returns the token as a header value. Fails with `wrong_token` if it is missing or invalid. */
export function headerValue(token: string | undefined): string {
  if (token !== undefined && /^[\x21-\x7e]+$/.test(token)) return token
  throw new ProviderFailure(
    'wrong_token',
    'The token is missing, or has spaces or characters that are not allowed in a header.',
  )
}

export function below(base: string, path: string): URL {
  const url = new URL(base)
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  return url
}

async function post<Answer>(tools: ProviderTools, question: Question<Answer>): Promise<SafeResponse> {
  const { url, headers = () => ({}), maxBytes } = question
  const body = JSON.stringify(question.body)
  const send = () => tools.fetch(url.href, { body, headers: headers(body), timeoutMs, maxBytes, signal: tools.signal })
  try {
    return await send().catch((error) => {
      const isUnsent = error instanceof RemoteError && error.reason === 'not_connected'
      if (!isUnsent || tools.signal.aborted) throw error
      return send()
    })
  } catch (error) {
    if (error instanceof RemoteError) throw remoteFailure(error, url.host)
    throw error
  }
}

/** Parses the response as JSON. Discards the parser's error, because it may quote the text. */
function jsonOf<Answer>(response: SafeResponse, { maxTokens }: Question<Answer>, host: string): unknown {
  try {
    return response.json({ maxTokens })
  } catch {
    throw unusableAnswer(host, 'it is not JSON with the type application/json, or JSON beyond the limits')
  }
}

const failureReasons: Record<RemoteErrorReason, FailureReason> = {
  refused: 'refused',
  not_connected: 'not_connected',
  timeout: 'timeout',
  aborted: 'timeout',
  redirected: 'redirected',
  too_large: 'too_large',
  invalid_response: 'incomplete',
}

function remoteFailure({ reason, why }: RemoteError, host: string): ProviderFailure {
  return new ProviderFailure(failureReasons[reason], `${host} returned no verdict. ${why}`)
}

function statusFailure(status: number, host: string): ProviderFailure {
  const [reason, words] = describeStatus(status)
  return new ProviderFailure(reason, `${host} returned no verdict: status ${status}, ${words}.`)
}

function describeStatus(status: number): [FailureReason, string] {
  if (status === 401 || status === 403) return ['unauthorized', 'so it does not accept the token']
  if (status === 429) return ['rate_limited', 'too many requests, or a used-up quota']
  if (status >= 500) return ['service_error', 'a failure of the service']
  return ['rejected', 'so it does not accept the request; check the address and the configuration']
}

/** Converts spans of code points, as in Python, to UTF-16 code units. Undefined if one is outside the text. */
export function spansOfCodePoints(text: string, spans: readonly Span[]): Span[] | undefined {
  const unitOf = [0]
  for (const char of text) unitOf.push(unitOf[unitOf.length - 1] + char.length)
  const isInside = ({ start, end }: Span) =>
    Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end < unitOf.length
  if (!spans.every(isInside)) return undefined
  return joined(spans.map(({ start, end }) => ({ start: unitOf[start], end: unitOf[end] })))
}

/**
 * Splits a text into pieces of at most `max` UTF-16 code units. Each piece begins with the last `overlap` units of the
 * previous one, so that shorter matches are complete in one piece. Never splits a character.
 */
export function piecesOf(text: string, max: number, overlap: number): string[] {
  const pieces: string[] = []
  for (let start = 0;;) {
    const end = start + max >= text.length ? text.length : characterStart(text, start + max)
    pieces.push(text.slice(start, end))
    if (end === text.length) return pieces
    start = characterStart(text, end - overlap)
  }
}

function characterStart(text: string, position: number): number {
  return text.codePointAt(position - 1)! > 0xffff ? position - 1 : position
}

/** Maximum number of kinds per verdict. */
const maxKinds = 20
const maxLength = 64

/**
 * Converts a service's labels to the kinds of a verdict, such as `EMAIL_ADDRESS` to `email address`. Services are not
 * trusted, so the number, length and characters of kinds are limited. `fallback` replaces empty labels.
 */
export function kindsOf(labels: readonly string[], fallback: string): string[] {
  return [...new Set(labels.map((label) => kindOf(label) || fallback))].slice(0, maxKinds)
}

function kindOf(label: string): string {
  return plainName(label.slice(0, 2 * maxLength).replace(/[^\p{L}\p{M}\p{N}\s,.'()&+/-]/gu, ' '), maxLength)
    .toLowerCase()
}
