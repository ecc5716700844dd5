/** Requests to a grid. They use `node:http`, because `fetch` costs a hook 30 ms and 10 MB more on Node. */
import type { IncomingMessage } from 'node:http'
import process from 'node:process'
import { aliasPattern } from '../aliases.ts'
import { second } from '../lib/time.ts'

/** An error of a client program. Scripts read `code`, people read the message. */
export class ClientError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = new.target.name
    this.code = code
  }
}

/** Time limit of a complete call, and of opening a stream. */
export const usualTimeoutMs = 30 * second

export interface GridRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Time limit of the complete call, or of opening a stream; 30 s by default. */
  timeoutMs?: number
  signal?: AbortSignal
}

/**
 * A failed call. Without a response, `status` is 0 and the code is `unreachable`. Otherwise code and message are the
 * grid's, on one line.
 */
export class GridCallError extends ClientError {
  readonly status: number
  /** The number of seconds after which the call may be retried, if the grid specifies it. */
  readonly retryAfterSeconds?: number

  constructor(code: string, message: string, status: number, retryAfterSeconds?: number) {
    super(lineOf(code), lineOf(message))
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Whether the key was revoked or has no agent. Retrying does not help; a person must fix it. */
export function isCredentialGone(error: unknown): error is GridCallError {
  return error instanceof GridCallError && (error.status === 401 || error.code === 'wrong_credential')
}

/** Whether a call may be retried, because there was no response or the grid is busy. */
export function mayRepeat(error: unknown): error is GridCallError {
  return error instanceof GridCallError && (error.status === 0 || error.status === 429 || error.status >= 500)
}

/** The number of ms after which a call may be retried, if the grid specifies it. */
export function retryAfterMs(error: unknown): number | undefined {
  const seconds = error instanceof GridCallError ? error.retryAfterSeconds : undefined
  return seconds === undefined ? undefined : seconds * second
}

/**
 * Sends a request to a grid. Resolves to the JSON of the response, or to undefined if the response is empty. Fails with
 * `GridCallError`.
 */
// deno-lint-ignore no-explicit-any -- the shape is that of the grid's answer
export async function callJson(url: string, request: GridRequest = {}): Promise<any> {
  const signal = AbortSignal.timeout(request.timeoutMs ?? usualTimeoutMs)
  const response = await openCall(url, { ...request, signal })
  const text = await textOf(response).catch((error) => {
    throw unreachable(url, error)
  })
  if (text === '' && response.statusCode === 204) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw noGrid(url, response.statusCode!)
  }
}

/** Resolves to a response with status 2xx once the headers have arrived. Redirects are not followed. */
export async function openCall(url: string, request: GridRequest): Promise<IncomingMessage> {
  const response = await respond(url, request).catch((error) => {
    throw unreachable(url, error)
  })
  const status = response.statusCode!
  if (status >= 200 && status < 300) return response
  throw await refusal(url, response)
}

async function respond(url: string, { body, timeoutMs, ...request }: GridRequest): Promise<IncomingMessage> {
  // A hook needs only one of the modules. A dynamic import would make Node print a warning into the client's input.
  const http = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http')
  return await new Promise((resolve, reject) => {
    const outgoing = http.request(url, request, resolve)
    outgoing.on('error', reject)
    outgoing.end(body)
    if (timeoutMs === undefined) return
    // A timer is used, because Bun does not enforce a request's timeout.
    const timer = setTimeout(() => {
      reject(new Error('The grid did not answer in time.'))
      outgoing.destroy()
    }, timeoutMs)
    for (const event of ['response', 'error']) outgoing.once(event, () => clearTimeout(timer))
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxAnswerLength) {
      throw new GridCallError('not_a_grid', 'The response is too long to come from a grid.', response.statusCode!)
    }
  }
  return text
}

/** The error in a grid's response, in the grid's or OAuth's format. */
async function refusal(url: string, response: IncomingMessage): Promise<GridCallError> {
  const status = response.statusCode!
  try {
    const { error, error_description: description = error } = JSON.parse(await textOf(response))
    if (typeof error === 'string') return new GridCallError(error, String(description), status)
    if (typeof error.code !== 'string') return noGrid(url, status)
    const retryAfter = Number(error.retry_after_seconds ?? response.headers['retry-after'])
    return new GridCallError(error.code, String(error.message), status, retryAfter > 0 ? retryAfter : undefined)
  } catch {
    return noGrid(url, status)
  }
}

export function noGrid(url: string, status: number): GridCallError {
  const message = `The server at ${new URL(url).origin} answered with status ${status}, but is not an agent-grid.`
  return new GridCallError('not_a_grid', message, status)
}

export function unreachable(url: string, error: unknown): GridCallError {
  if (error instanceof GridCallError) return error
  const reason = error instanceof Error && error.message !== '' ? error.message : String(error)
  return new GridCallError('unreachable', `The grid at ${new URL(url).origin} could not be reached: ${reason}`, 0)
}

/** Maximum length of a response in characters. It exceeds every grid response and fits into the available memory. */
export const maxAnswerLength = 32 * 1024 * 1024
const maxLineLength = 1_000

/** An alias in a response, with `@`; undefined if the value is not an alias. */
export function aliasIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const alias = value.replace(/^@/, '')
  return aliasPattern.test(alias) ? `@${alias}` : undefined
}

export function keyIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^grid_agt_[0-9A-Za-z]{49}$/.test(value) ? value : undefined
}

/** An HTTP URL in a response, without user name, query and fragment; undefined if the value is not such a URL. */
export function addressIn(value: unknown): URL | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const { protocol, username, password, search, hash } = new URL(value)
  const isBare = [username, password, search, hash].every((part) => part === '')
  return ['http:', 'https:'].includes(protocol) && isBare ? new URL(value) : undefined
}

/** A response's text on one line, without terminal control sequences. */
export function lineOf(text: string): string {
  return text.slice(0, maxLineLength).replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}

/** Resolves after this many ms, or when `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (!(ms > 0) || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}

/**
 * The delay before a stream is reopened: 1 to 15 s, in ms. It is random, so that clients do not all reconnect at once.
 */
export function reconnectMs(failures: number): number {
  return Math.min(second * 2 ** Math.max(0, failures - 1), 15 * second) * (0.5 + Math.random() / 2)
}
