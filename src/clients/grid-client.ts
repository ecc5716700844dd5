/**
 * The calls that the client programs make to a grid. They use `node:http`: a hook that loads `fetch` takes 30 ms and 10 MB
 * more on Node.
 */
import type { IncomingMessage, RequestOptions } from 'node:http'
import process from 'node:process'
import { version } from '../lib/version.ts'
import { aliasIn, lineOf, maxAnswerLength } from './grid-answer.ts'

export interface GridClientOptions {
  /** The address of the grid, such as `https://grid.example.com`. */
  url: string
  /** An agent key. */
  key: string
  /** For the whole call, and for the opening of a stream; 30 s by default. */
  timeoutMs?: number
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
export class GridCallError extends Error {
  readonly code: string
  readonly status: number
  /** After how many seconds the call may be repeated, if the grid says so. */
  readonly retryAfterSeconds?: number

  constructor(code: string, message: string, status: number, retryAfterSeconds?: number) {
    super(lineOf(message))
    this.name = 'GridCallError'
    this.code = lineOf(code)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** In characters. */
const maxEventLength = 64 * 1024

interface Call {
  method: 'GET' | 'POST' | 'DELETE'
  /** Below the address of the grid. */
  path: string
  body?: unknown
  headers?: Record<string, string>
  accept?: string
  signal?: AbortSignal
}

/** Calls one grid as one agent. Every call fails with `GridCallError`. */
export class GridClient {
  readonly #base: string
  readonly #key: string
  readonly #timeoutMs: number

  constructor({ url, key, timeoutMs = 30_000 }: GridClientOptions) {
    this.#base = url.replace(/\/$/, '')
    this.#key = key
    this.#timeoutMs = timeoutMs
  }

  /** What waits, without the contents. `limit` is 1 to 50, by default 20. */
  peek(options?: { limit?: number; summary?: true }): Promise<Peek>
  /** What waits, as `read_messages` shows it. */
  peek(options: { limit?: number; summary: false }): Promise<Peek<InboxMessage>>
  async peek({ limit, summary = true }: { limit?: number; summary?: boolean } = {}): Promise<Peek> {
    const query = new URLSearchParams({
      ...(limit !== undefined && { limit: String(limit) }),
      ...(summary && { summary: 'true' }),
    })
    const peek = await this.#json({ method: 'GET', path: `/api/v1/inbox?${query}` })
    const agent = aliasIn(peek?.agent)
    if (agent === undefined || !Number.isSafeInteger(peek.unread) || !Array.isArray(peek.messages)) {
      throw noGrid(this.#base, 200)
    }
    return { ...peek, agent }
  }

  /** Lease messages: nobody else gets them until the lease expires, is released or acknowledged. */
  lease(request: LeaseRequest = {}): Promise<Lease> {
    return this.#json({ method: 'POST', path: '/api/v1/inbox/leases', body: request })
  }

  /** Let a lease expire so many seconds from now. Fails with `stale_lease` if it has ended, as the next two. */
  extend(leaseId: string, seconds: number): Promise<{ expires_at: string }> {
    return this.#json({ method: 'POST', path: leasePath(leaseId, 'extend'), body: { seconds } })
  }

  /** Acknowledge all messages of a lease, or these. They are read then. */
  ack(leaseId: string, messageIds?: string[]): Promise<{ acked: number }> {
    return this.#json({ method: 'POST', path: leasePath(leaseId, 'ack'), body: { message_ids: messageIds } })
  }

  /** Release all messages of a lease, or these. They are unread again. */
  release(leaseId: string, messageIds?: string[]): Promise<{ released: number }> {
    return this.#json({ method: 'POST', path: leasePath(leaseId, 'release'), body: { message_ids: messageIds } })
  }

  /** Send a message. A call that is repeated with the same key sends it once. */
  send(request: SendRequest, idempotencyKey: string): Promise<Sent> {
    const headers = { 'Idempotency-Key': idempotencyKey }
    return this.#json({ method: 'POST', path: '/api/v1/messages', body: request, headers })
  }

  /** Who this key belongs to. */
  async me(): Promise<Me> {
    const me = await this.#json({ method: 'GET', path: '/api/v1/me' })
    const agent = aliasIn(me?.agent)
    if (agent === undefined) throw noGrid(this.#base, 200)
    return { ...me, agent }
  }

  /** Revoke the key of this client. */
  async revokeKey(): Promise<void> {
    await this.#json({ method: 'DELETE', path: '/api/v1/key' })
  }

  /**
   * Open the wake stream. `onOpen` is called when the grid has accepted it: from then on nothing is missed. It is not
   * opened again when it ends.
   */
  async *wakeStream(
    { attended, runner, signal }: WakeStreamOptions = {},
    onOpen: () => void = () => {},
  ): AsyncGenerator<WakeEvent> {
    const query = new URLSearchParams({
      ...(attended !== undefined && { attended }),
      ...(runner !== undefined && { runner }),
    })
    const path = `/api/agents/wake-stream${query.size > 0 ? `?${query}` : ''}`
    const response = await this.#open({ method: 'GET', path, accept: 'text/event-stream', signal })
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

  // deno-lint-ignore no-explicit-any -- the shape is that of the grid's answer
  async #json(call: Call): Promise<any> {
    const signal = AbortSignal.timeout(this.#timeoutMs)
    const response = await this.#open({ ...call, signal })
    let text: string
    try {
      text = await textOf(response)
    } catch (error) {
      throw unreachable(this.#base, error)
    }
    if (text === '' && response.statusCode === 204) return undefined
    try {
      return JSON.parse(text)
    } catch {
      throw noGrid(this.#base, response.statusCode!)
    }
  }

  /** Resolves to an answer of status 2xx, of which only the headers have come. */
  async #open({ method, path, body, headers, accept = 'application/json', signal }: Call): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const response = await respond(this.#base + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.#key}`,
        Accept: accept,
        'User-Agent': `agent-grid/${version}`,
        ...(text !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      signal,
      timeout: this.#timeoutMs,
    }, text).catch((error) => {
      throw unreachable(this.#base, error)
    })
    const status = response.statusCode!
    if (status >= 200 && status < 300) return response
    throw await refusal(this.#base, response)
  }
}

function leasePath(leaseId: string, action: string): string {
  return `/api/v1/inbox/leases/${encodeURIComponent(leaseId)}/${action}`
}

async function respond(url: string, options: RequestOptions, text: string | undefined): Promise<IncomingMessage> {
  // A hook needs one of the two. An import of it would make Node print a warning, which a client would read.
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http')
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, options, resolve)
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error('The grid did not answer in time.')))
    outgoing.end(text)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxAnswerLength) throw new Error('The answer is longer than those of a grid.')
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

async function refusal(base: string, response: IncomingMessage): Promise<GridCallError> {
  const status = response.statusCode!
  try {
    const { error } = JSON.parse(await textOf(response))
    const retryAfter = Number(error.retry_after_seconds ?? response.headers['retry-after'])
    if (typeof error.code !== 'string') return noGrid(base, status)
    return new GridCallError(error.code, String(error.message), status, retryAfter > 0 ? retryAfter : undefined)
  } catch {
    return noGrid(base, status)
  }
}

function noGrid(base: string, status: number): GridCallError {
  return new GridCallError('not_a_grid', `What answers at ${base} with status ${status} is no agent-grid.`, status)
}

function unreachable(base: string, error: unknown): GridCallError {
  const reason = error instanceof Error && error.message !== '' ? error.message : String(error)
  return new GridCallError('unreachable', `The grid at ${base} could not be reached: ${reason}`, 0)
}
