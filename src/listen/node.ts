/** `listen()` on Node and Deno. */
import type { HttpBindings } from '@hono/node-server'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorCode } from '../errors.ts'
import { SentAnswers, untilSent } from '../lib/http/sent-answers.ts'
import { tinyChunkCounter, tinyChunks } from '../lib/http/tiny-chunks.ts'
import { nextIteration, RequestScheduler } from '../lib/limits/request-scheduler.ts'
import {
  arrivingMs,
  createDispatcher,
  type FetchHandler,
  type Listener,
  type ListenOptions,
  type ReceivedRequest,
  unread,
  waitAtMost,
} from './dispatcher.ts'

/** How many connections may wait to be accepted. The system may allow fewer; beyond, clients try again after a second. */
const backlog = 4_096

/** Serve with `node:http`. */
export async function listenOnNode(fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { createAdaptorServer } = await import('@hono/node-server') // dynamic: only Node loads it
  const { port, host, maxStallMs = 120_000 } = options
  const scheduler = new RequestScheduler()
  const dispatch = createDispatcher(fetch, scheduler, options)
  let isStopping = false
  const server = createAdaptorServer({
    fetch(request, env) {
      const { incoming: { socket }, outgoing } = env as HttpBindings
      // Clients send their next request over a new connection, which is refused, and not over one that is closed.
      if (isStopping) outgoing.setHeader('Connection', 'close')
      SentAnswers.nextRequest(socket)
      if (!outgoing.socket && !queueAnswer(socket, outgoing as ServerResponse)) return unread()
      return dispatch(request, new NodeRequest(env as HttpBindings))
    },
    // Of URLs only; the edge reads the header.
    hostname: 'localhost',
    serverOptions: { headersTimeout: 15_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 },
  }) as Server
  server.setTimeout(maxStallMs)
  server.on('connection', () => scheduler.accepted())
  server.on('clientError', refuseUnreadable)
  server.prependListener('request', refuseTinyChunks)
  server.prependListener('request', addMissingHost)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    async stop(graceMs) {
      isStopping = true
      await sleep(arrivingMs)
      await connectionsChecked()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      // Connections become idle when their last request is answered; they would stay open until a timeout.
      const closeIdle = setInterval(() => server.closeIdleConnections(), 100)
      await waitAtMost(graceMs, closed)
      clearInterval(closeIdle)
      server.closeAllConnections()
    },
  }
}

/** Resolves when the event loop has looked at the connections. */
function connectionsChecked(): Promise<void> {
  return new Promise(nextIteration)
}

/** What is answered to a request that Node cannot read, by the code of its error; 400 for all others. */
const unreadable: Record<string, [status: string, code: ErrorCode, message: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'The headers of the request are larger than 16 KiB.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'payload_too_large', 'A chunk has too many extensions.'],
  TINY_CHUNKS: ['400 Bad Request', 'invalid_request', tinyChunks],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request_timeout', 'The request did not come in time.'],
}

/** Node would answer without a body. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse }
  // Within another answer, this one would be taken for a part of it.
  if (!socket.writable || answer?.headersSent) return void socket.destroy(error)
  const [status, code, message] = unreadable[error.code ?? ''] ??
    ['400 Bad Request', 'invalid_request', 'This is not an HTTP request.']
  const body = JSON.stringify({ error: { code, message } })
  const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close']
  socket.write([`HTTP/1.1 ${status}`, ...headers, '', body].join('\r\n'))
  socket.destroySoon()
}

/** HTTP/1.0 needs no Host. An empty one says so, where the URL of the request has a name. @see RFC 9112 §3.2 */
function addMissingHost(request: IncomingMessage): void {
  if (request.headers.host === undefined && request.url?.startsWith('/')) request.rawHeaders.push('Host', '')
}

/** Ends the connection of a body in tiny chunks, also one that no handler reads: the adapter would read it to its end. */
function refuseTinyChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const areTiny = tinyChunkCounter()
  const { push } = request
  request.push = (chunk, encoding) => {
    if (chunk === null || !areTiny(chunk.length)) return push.call(request, chunk, encoding)
    // What is parsed already comes still, and is not wanted.
    request.push = () => false
    refuseUnreadable(Object.assign(new Error(tinyChunks), { code: 'TINY_CHUNKS' }), request.socket)
    return false
  }
}

/**
 * How many answers of one connection may wait for those before them. HTTP/1.1 clients send one request at a time; few
 * send more before the answer, and all of these must be ready for a connection that ends. @see RFC 9112 §9.3.2
 */
const maxPipelined = 15

const queuedAnswers = new WeakMap<Socket, Set<ServerResponse>>()

/** An answer waits for others of its connection. False, and the connection is closed, if too many do. */
function queueAnswer(socket: Socket, answer: ServerResponse): boolean {
  const queued = queuedAnswers.get(socket) ?? new Set()
  if (queued.size >= maxPipelined) {
    socket.destroy()
    return false
  }
  if (!queuedAnswers.has(socket)) {
    queuedAnswers.set(socket, queued)
    // `node:http` reports the end of a connection only to the answer that is its turn. The others would keep what they
    // hold for ever, such as the place of an event stream.
    socket.once('close', () => {
      for (const answer of queued) if (!answer.socket) answer.emit('close')
    })
  }
  queued.add(answer)
  answer.once('close', () => queued.delete(answer))
  return true
}

/** A class, because an object with a getter of its own would cost a hidden class for each request. */
class NodeRequest implements ReceivedRequest {
  caller?: string
  waitedMs?: number
  readonly #bindings: HttpBindings

  constructor(bindings: HttpBindings) {
    this.#bindings = bindings
  }

  get isGone(): boolean {
    return this.#bindings.incoming.socket.destroyed
  }

  header(name: string): string | null {
    return this.#bindings.incoming.headers[name]?.toString() ?? null
  }

  get method(): string | undefined {
    return this.#bindings.incoming.method
  }

  get path(): string | undefined {
    return this.#bindings.incoming.url
  }

  get remoteAddress(): string {
    return this.#bindings.incoming.socket.remoteAddress ?? ''
  }

  async hasLeft(): Promise<boolean> {
    await connectionsChecked()
    return this.#isClosed
  }

  answerTaken(): Promise<boolean> {
    const { incoming: { socket }, outgoing } = this.#bindings
    return this.#isClosed ? Promise.resolve(false) : SentAnswers.isTaken(outgoing as ServerResponse, socket)
  }

  answerSent(withinMs: number): Promise<void> {
    const { incoming: { socket }, outgoing } = this.#bindings
    return this.#isClosed ? Promise.resolve() : untilSent(outgoing as ServerResponse, socket, withinMs)
  }

  /** `node:http` ends a connection whose client closed its half. */
  get #isClosed(): boolean {
    const { incoming: { socket }, outgoing } = this.#bindings
    return outgoing.closed || socket.destroyed || socket.readableEnded
  }
}
