/** The calls that client programs make to a grid. */
import type { IncomingMessage } from 'node:http'
import { second } from '../lib/time.ts'
import { version } from '../lib/version.ts'
import { aliasIn, callJson, type GridRequest, noGrid, openCall, unreachable, usualTimeoutMs } from './grid-call.ts'

interface GridClientOptions extends Pick<GridRequest, 'timeoutMs'> {
  /** The grid's URL, such as `https://grid.example.com`. */
  url: string
  key: string
}

export interface MessageSummary {
  message_id: string
  /** The sender's alias. */
  user: string
  /** `direct`, or the name of a channel. */
  channel?: string
  type?: string
  conversation_id?: string
  reply_to_message_id?: string
  timestamp?: string
  /** Whether an earlier lease of the message was released or expired. */
  redelivered?: boolean
}

export interface InboxMessage extends MessageSummary {
  message?: string
  [field: string]: unknown
}

/** The unread messages, oldest first. Reading them changes nothing. */
export interface Peek {
  agent: string
  /** 100 stands for 100 or more. */
  unread: number
  messages: InboxMessage[]
  has_more: boolean
  /** Missing in responses from grids older than 1.0.0. */
  grid?: { version?: unknown }
  /** Whether a person attends the agent on another stream. */
  presence?: { attended?: boolean }
}

interface Acks {
  lease_id: string
  message_ids?: string[]
}

/** The `next` option of `SendRequest`. */
export interface NextLease {
  /** 1 to 50. */
  limit?: number
  max_chars?: number
  /** 30 to 43,200; 600 by default. */
  seconds?: number
  message_ids?: string[]
  conversation_id?: string
  /** 0 to 50: how many seconds to wait if there is nothing to lease. */
  wait_seconds?: number
}

interface LeaseRequest extends NextLease {
  /** Processed messages, which are acknowledged before the lease. */
  acks?: Acks
}

export interface Lease {
  /** `null` if there were no messages to lease. */
  lease_id: string | null
  expires_at: string | null
  messages: InboxMessage[]
  remaining: number
}

export interface SendRequest {
  to: string
  message: string
  parts?: Record<string, unknown>[]
  choices?: string[]
  reply_to_message_id?: string
  conversation_id?: string
  expires_in_seconds?: number
  /** The answered messages, acknowledged in the transaction that stores the message. */
  acks?: Acks
  next?: NextLease
  /** 0 to 50: how many seconds to wait for an answer. */
  wait_seconds?: number
}

/** A file upload in progress. `offset` is the number of bytes received. */
export interface UploadState {
  upload_id: string
  offset: number
}

export interface Sent {
  message_id: string
  recipient: string
  /** The requested lease. With `error` there is no lease, but the message is stored. */
  next?: Lease | { error: { code: string; message: string } }
  /** The result of `wait_seconds`: the answer, or a note. */
  answer?: { messages: InboxMessage[]; unread: number; note?: string }
  [field: string]: unknown
}

/** Names and the space that they belong to; without `space`, they belong to the account. */
interface ReservedNames {
  names?: string[]
  space?: string
}

export interface ReserveRequest extends ReservedNames {
  note?: string
  expires_in_seconds?: number
  shared?: boolean
  /** 0 to 50. */
  wait_seconds?: number
}

export interface Reservation {
  name: string
  /** With `@`. */
  agent: string
  presence: string
  ends_at: string
  space?: string
  shared?: boolean
  note?: string
}

export interface Me {
  agent: string
  account: unknown
  key: { name: string | null; last4: string }
  grid: { version: string; url: string }
  clock: string
}

type WakeEvent = 'unread' | 'heartbeat'

export interface WakeStreamOptions {
  attended?: string
  runner?: string
  /** Closes the stream without an error. */
  signal?: AbortSignal
}

/** In characters. */
const maxEventLength = 64 * 1024
/** More pages than an account's reservations can fill. */
const maxPages = 1_000

/** Calls one grid as one agent. All methods fail with `GridCallError`. */
export class GridClient {
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #timeoutMs: number | undefined

  constructor({ url, key, timeoutMs }: GridClientOptions) {
    this.#base = url.replace(/\/$/, '')
    this.#headers = { Authorization: `Bearer ${key}`, 'User-Agent': `agent-grid/${version}` }
    this.#timeoutMs = timeoutMs
  }

  /** Unread messages without contents. `limit` is 1 to 50, by default 20. */
  async peek({ limit, summary = true }: { limit?: number; summary?: boolean } = {}): Promise<Peek> {
    const query = queryOf({ limit: limit?.toString(), summary: summary ? 'true' : undefined })
    const peek = await this.#json('GET', `/api/v1/inbox${query}`)
    const agent = aliasIn(peek?.agent)
    if (agent === undefined || !Number.isSafeInteger(peek.unread) || !Array.isArray(peek.messages)) {
      throw noGrid(this.#base, 200)
    }
    return { ...peek, agent }
  }

  /** Leases messages. No other reader gets them until the lease is acknowledged, released or expires. */
  lease(request: LeaseRequest = {}): Promise<Lease> {
    return this.#json('POST', '/api/v1/inbox/leases', request, { waitSeconds: request.wait_seconds })
  }

  /**
   * Makes a lease expire after this time. This method and the next two fail with `stale_lease` if the lease has ended.
   */
  extend(leaseId: string, seconds: number): Promise<{ expires_at: string }> {
    return this.#json('POST', leasePath(leaseId, 'extend'), { seconds })
  }

  /** Acknowledges messages of a lease, by default all, so that they count as read. */
  ack(leaseId: string, messageIds?: string[]): Promise<{ acked: number }> {
    return this.#json('POST', leasePath(leaseId, 'ack'), { message_ids: messageIds })
  }

  /** Releases messages of a lease, by default all, so that they are unread again. */
  release(leaseId: string, messageIds?: string[]): Promise<{ released: number }> {
    return this.#json('POST', leasePath(leaseId, 'release'), { message_ids: messageIds })
  }

  /** Sends a message. Repeated calls with the same idempotency key send the message only once. */
  send(request: SendRequest, idempotencyKey: string): Promise<Sent> {
    const headers = { 'Idempotency-Key': idempotencyKey }
    return this.#json('POST', '/api/v1/messages', request, {
      headers,
      waitSeconds: request.next?.wait_seconds ?? request.wait_seconds,
    })
  }

  /** Starts a file upload. A message can include the file once all its bytes have arrived. */
  beginUpload(file: { bytes: number; filename?: string; mediaType?: string }): Promise<UploadState> {
    return this.#json('POST', '/api/v1/parts', file)
  }

  upload(id: string, offset: number, bytes: Uint8Array): Promise<UploadState> {
    return callJson(`${this.#base}${partPath(id)}?offset=${offset}`, {
      method: 'PUT',
      headers: { ...this.#headers, 'Content-Type': 'application/octet-stream', 'Content-Length': `${bytes.length}` },
      body: bytes,
      timeoutMs: this.#timeoutMs,
    })
  }

  uploadState(id: string): Promise<UploadState> {
    return this.#json('GET', `${partPath(id)}/upload`)
  }

  /** The content of a part that a message refers to by its handle. */
  part(id: string): Promise<AsyncIterable<Uint8Array>> {
    return openCall(this.#base + partPath(id), { headers: this.#headers, timeoutMs: this.#timeoutMs ?? usualTimeoutMs })
  }

  /** Reserves all of the names or none. Fails with `already_reserved` if another agent holds one of them. */
  reserve(request: ReserveRequest): Promise<{ reserved: string[]; ends_at: string }> {
    return this.#json('POST', '/api/v1/reservations', request, { waitSeconds: request.wait_seconds })
  }

  /** Releases names. Without `names` it releases all names of the space; without `space`, all names of the agent. */
  releaseNames(request: ReservedNames): Promise<{ released: string[] }> {
    return this.#json('POST', '/api/v1/reservations', { ...request, release: true })
  }

  /** All reservations of the account, or of a space. `mine` selects the agent's own. */
  async reservations({ space, mine = false }: { space?: string; mine?: boolean } = {}): Promise<Reservation[]> {
    const found: Reservation[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < maxPages; pages++) {
      const query = queryOf({ space, mine: mine ? 'true' : undefined, cursor })
      const page = await this.#json('GET', `/api/v1/reservations${query}`)
      if (!Array.isArray(page?.reservations)) throw noGrid(this.#base, 200)
      found.push(...page.reservations)
      if (page.cursor === undefined) break
      cursor = String(page.cursor)
    }
    return found
  }

  async me(): Promise<Me> {
    const me = await this.#json('GET', '/api/v1/me')
    const agent = aliasIn(me?.agent)
    if (agent === undefined) throw noGrid(this.#base, 200)
    return { ...me, agent }
  }

  async revokeKey(): Promise<void> {
    await this.#json('DELETE', '/api/v1/key')
  }

  /** Opens the wake stream once; a lost stream is not reopened. The first event reports whether messages are unread. */
  async *wakeStream({ attended, runner, signal }: WakeStreamOptions = {}): AsyncGenerator<WakeEvent> {
    const url = `${this.#base}/api/agents/wake-stream${queryOf({ attended, runner })}`
    const headers = { ...this.#headers, Accept: 'text/event-stream' }
    const timeoutMs = this.#timeoutMs ?? usualTimeoutMs
    const response = await openCall(url, { headers, signal, timeoutMs })
    // Frames arrive every 15 s, so the connection is considered lost after three missing frames. A timer checks this,
    // because Bun's own response timeout fires even while data arrives.
    const silence = setTimeout(() => response.destroy(new Error('The stream has gone silent.')), 1.5 * timeoutMs)
    try {
      for await (const event of wakeEvents(response)) {
        silence.refresh()
        yield event
      }
    } catch (error) {
      if (!signal?.aborted) throw unreachable(this.#base, error)
    } finally {
      clearTimeout(silence)
      response.destroy()
    }
  }

  #json(
    method: GridRequest['method'],
    path: string,
    body?: unknown,
    { headers, waitSeconds = 0 }: { headers?: Record<string, string>; waitSeconds?: number } = {},
  ) {
    return callJson(this.#base + path, {
      method,
      headers: {
        ...this.#headers,
        Accept: 'application/json',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      timeoutMs: (this.#timeoutMs ?? usualTimeoutMs) + waitSeconds * second,
    })
  }
}

function queryOf(parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

function partPath(id: string): string {
  return `/api/v1/parts/${encodeURIComponent(id)}`
}

function leasePath(leaseId: string, action: string): string {
  return `/api/v1/inbox/leases/${encodeURIComponent(leaseId)}/${action}`
}

async function* wakeEvents(response: IncomingMessage): AsyncGenerator<WakeEvent> {
  let rest = ''
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    if (rest.length > maxEventLength) throw new Error('The event is too long to come from a grid.')
    for (const line of lines) {
      if (line.startsWith('data:')) yield 'unread'
      else if (line.startsWith(':')) yield 'heartbeat'
    }
  }
}
