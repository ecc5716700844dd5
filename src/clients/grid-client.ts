/**
 * The calls that the client programs make to a grid. They use `node:http`: a hook that loads `fetch` takes 30 ms and 10 MB
 * more on Node.
 */
import type { IncomingMessage } from 'node:http'
import process from 'node:process'
import { second } from '../lib/time.ts'
import { version } from '../lib/version.ts'
import { ClientError } from './client-error.ts'
import { aliasIn, lineOf, maxAnswerLength } from './grid-answer.ts'

interface GridClientOptions extends Pick<GridRequest, 'timeoutMs'> {
  /** The address of the grid, such as `https://grid.example.com`. */
  url: string
  /** An agent key. */
  key: string
}

/** A message without its content. */
export interface MessageSummary {
  message_id: string
  /** The alias of the sender. */
  user: string
  /** `direct`, or the name of a channel. */
  channel?: string
  type?: string
  conversation_id?: string
  reply_to_message_id?: string
  timestamp?: string
  /** It was leased before, by somebody who did not acknowledge it. */
  redelivered?: boolean
}

/** A message as `read_messages` shows it. */
export interface InboxMessage extends MessageSummary {
  message?: string
  [field: string]: unknown
}

/** What waits in the inbox, oldest first. Looking changes nothing. */
export interface Peek<M = MessageSummary> {
  agent: string
  /** 100 stands for 100 or more. */
  unread: number
  messages: M[]
  has_more: boolean
  /** Whether a person attends another stream of the agent. */
  presence?: { attended?: boolean }
}

export interface LeaseRequest {
  /** 1 to 50. */
  limit?: number
  max_chars?: number
  /** 30 to 43,200; 600 by default. */
  seconds?: number
  message_ids?: string[]
  conversation_id?: string
}

export interface Lease {
  /** `null` if there was nothing to lease. */
  lease_id: string | null
  expires_at: string | null
  messages: InboxMessage[]
  remaining: number
}

export interface SendRequest {
  /** An alias or a channel. */
  to: string
  message: string
  reply_to_message_id?: string
  conversation_id?: string
  /** What the message answers: it is acknowledged when the message is stored, or neither happens. */
  acks?: { lease_id: string; message_ids?: string[] }
}

/** What `send_message` answers. */
export interface Sent {
  message_id: string
  recipient: string
  [field: string]: unknown
}

/** Who the key belongs to. */
export interface Me {
  agent: string
  account: unknown
  key: { name: string | null; last4: string }
  grid: { version: string; url: string }
  /** The clock of the grid. */
  clock: string
}

/** What a stream says: that there are unread messages, or that it is alive. */
export type WakeEvent = 'unread' | 'heartbeat'

export interface WakeStreamOptions {
  /** The client in which a person attends the agent. */
  attended?: string
  /** The client that runs the agent unattended. */
  runner?: string
  /** Ends the stream, without an error. */
  signal?: AbortSignal
}

/**
 * A call failed. `status` is 0 if there was no answer; then the code is `unreachable`. Otherwise code and message are
 * those of the grid, on one line.
 */
export class GridCallError extends ClientError {
  readonly status: number
  /** After how many seconds the call may be repeated, if the grid says so. */
  readonly retryAfterSeconds?: number

  constructor(code: string, message: string, status: number, retryAfterSeconds?: number) {
    super(lineOf(code), lineOf(message))
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Whether the key was revoked, or is of no agent. Only a person can change that. */
export function isCredentialGone(error: unknown): error is GridCallError {
  return error instanceof GridCallError && (error.status === 401 || error.code === 'wrong_credential')
}

/** Whether a call may be repeated: it was not answered, or the grid is busy. */
export function mayRepeat(error: unknown): error is GridCallError {
  return error instanceof GridCallError && (error.status === 0 || error.status === 429 || error.status >= 500)
}

/** After how many ms a call may be repeated, if the grid says so. */
export function retryAfterMs(error: unknown): number | undefined {
  const seconds = error instanceof GridCallError ? error.retryAfterSeconds : undefined
  return seconds === undefined ? undefined : seconds * second
}

/** In characters. */
const maxEventLength = 64 * 1024
const usualTimeoutMs = 30 * second

/** A request to a grid. */
export interface GridRequest {
  method?: 'GET' | 'POST' | 'DELETE'
  headers?: Record<string, string>
  body?: string
  /** For the whole call, and for the opening of a stream; 30 s by default. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** Calls one grid as one agent. Every call fails with `GridCallError`. */
export class GridClient {
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #timeoutMs: number | undefined

  constructor({ url, key, timeoutMs }: GridClientOptions) {
    this.#base = url.replace(/\/$/, '')
    this.#headers = { Authorization: `Bearer ${key}`, 'User-Agent': `agent-grid/${version}` }
    this.#timeoutMs = timeoutMs
  }

  /** What waits, without the contents. `limit` is 1 to 50, by default 20. */
  peek(options?: { limit?: number; summary?: true }): Promise<Peek>
  /** What waits, as `read_messages` shows it. */
  peek(options: { limit?: number; summary: false }): Promise<Peek<InboxMessage>>
  async peek({ limit, summary = true }: { limit?: number; summary?: boolean } = {}): Promise<Peek> {
    const query = queryOf({ limit: limit?.toString(), summary: summary ? 'true' : undefined })
    const peek = await this.#json('GET', `/api/v1/inbox${query}`)
    const agent = aliasIn(peek?.agent)
    if (agent === undefined || !Number.isSafeInteger(peek.unread) || !Array.isArray(peek.messages)) {
      throw noGrid(this.#base, 200)
    }
    return { ...peek, agent }
  }

  /** Lease messages: nobody else gets them until the lease expires, is released or acknowledged. */
  lease(request: LeaseRequest = {}): Promise<Lease> {
    return this.#json('POST', '/api/v1/inbox/leases', request)
  }

  /** Let a lease expire so many seconds from now. Fails with `stale_lease` if it has ended, as the next two. */
  extend(leaseId: string, seconds: number): Promise<{ expires_at: string }> {
    return this.#json('POST', leasePath(leaseId, 'extend'), { seconds })
  }

  /** Acknowledge all messages of a lease, or these. They are read then. */
  ack(leaseId: string, messageIds?: string[]): Promise<{ acked: number }> {
    return this.#json('POST', leasePath(leaseId, 'ack'), { message_ids: messageIds })
  }

  /** Release all messages of a lease, or these. They are unread again. */
  release(leaseId: string, messageIds?: string[]): Promise<{ released: number }> {
    return this.#json('POST', leasePath(leaseId, 'release'), { message_ids: messageIds })
  }

  /** Send a message. A call that is repeated with the same key sends it once. */
  send(request: SendRequest, idempotencyKey: string): Promise<Sent> {
    return this.#json('POST', '/api/v1/messages', request, { 'Idempotency-Key': idempotencyKey })
  }

  /** The owner of this key. */
  async me(): Promise<Me> {
    const me = await this.#json('GET', '/api/v1/me')
    const agent = aliasIn(me?.agent)
    if (agent === undefined) throw noGrid(this.#base, 200)
    return { ...me, agent }
  }

  /** Revoke the key of this client. */
  async revokeKey(): Promise<void> {
    await this.#json('DELETE', '/api/v1/key')
  }

  /**
   * Open the wake stream. `onOpen` is called when the grid has accepted it: from then on nothing is missed. It is not
   * opened again when it ends.
   */
  async *wakeStream(
    { attended, runner, signal }: WakeStreamOptions = {},
    onOpen: () => void = () => {},
  ): AsyncGenerator<WakeEvent> {
    const url = `${this.#base}/api/agents/wake-stream${queryOf({ attended, runner })}`
    const headers = { ...this.#headers, Accept: 'text/event-stream' }
    const response = await open(url, { headers, signal, timeoutMs: this.#timeoutMs ?? usualTimeoutMs })
    try {
      // Frames come every 15 s, so a silence of three of them means that the connection is gone.
      response.setTimeout(45_000, () => response.destroy(new Error('The stream is silent.')))
      onOpen()
      yield* wakeEvents(response)
    } catch (error) {
      if (!signal?.aborted) throw unreachable(this.#base, error)
    } finally {
      response.destroy()
    }
  }

  #json(method: GridRequest['method'], path: string, body?: unknown, headers?: Record<string, string>) {
    return callJson(this.#base + path, {
      method,
      headers: {
        ...this.#headers,
        Accept: 'application/json',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      timeoutMs: this.#timeoutMs,
    })
  }
}

/**
 * Send a request to a grid. Resolves to the JSON of its answer, or undefined if that is empty. Fails with `GridCallError`.
 */
// deno-lint-ignore no-explicit-any -- the shape is that of the grid's answer
export async function callJson(url: string, request: GridRequest = {}): Promise<any> {
  const signal = AbortSignal.timeout(request.timeoutMs ?? usualTimeoutMs)
  const response = await open(url, { ...request, signal })
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

/** Resolves to an answer of status 2xx, of which only the headers have come. Redirects are not followed. */
async function open(url: string, request: GridRequest): Promise<IncomingMessage> {
  const response = await respond(url, request).catch((error) => {
    throw unreachable(url, error)
  })
  const status = response.statusCode!
  if (status >= 200 && status < 300) return response
  throw await refusal(url, response)
}

async function respond(url: string, { body, timeoutMs, ...request }: GridRequest): Promise<IncomingMessage> {
  // A hook needs one of the two. An import of it would make Node print a warning, which a client would read.
  const http = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http')
  return await new Promise((resolve, reject) => {
    const outgoing = http.request(url, { ...request, timeout: timeoutMs }, resolve)
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error('The grid did not answer in time.')))
    outgoing.end(body)
  })
}

function queryOf(parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

function leasePath(leaseId: string, action: string): string {
  return `/api/v1/inbox/leases/${encodeURIComponent(leaseId)}/${action}`
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxAnswerLength) {
      throw new GridCallError('not_a_grid', 'The answer is longer than those of a grid.', response.statusCode!)
    }
  }
  return text
}

async function* wakeEvents(response: IncomingMessage): AsyncGenerator<WakeEvent> {
  let rest = ''
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    if (rest.length > maxEventLength) throw new Error('An event is longer than those of a grid.')
    for (const line of lines) {
      if (line.startsWith('data:')) yield 'unread'
      else if (line.startsWith(':')) yield 'heartbeat'
    }
  }
}

/** The error that a grid answers, in its own shape or in that of OAuth. */
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

/** Something else answers at an address. */
export function noGrid(url: string, status: number): GridCallError {
  const message = `What answers at ${new URL(url).origin} with status ${status} is not an agent-grid.`
  return new GridCallError('not_a_grid', message, status)
}

function unreachable(url: string, error: unknown): GridCallError {
  if (error instanceof GridCallError) return error
  const reason = error instanceof Error && error.message !== '' ? error.message : String(error)
  return new GridCallError('unreachable', `The grid at ${new URL(url).origin} could not be reached: ${reason}`, 0)
}
