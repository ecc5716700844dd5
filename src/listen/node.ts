/** `listen()` on Node and Deno. */
import type { HttpBindings } from '@hono/node-server'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
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

/** Maximum number of connections waiting to be accepted, if the system allows it. Others retry after a second. */
const backlog = 4_096

/** How long a stopping server accepts waiting connections. Node accepts one per iteration of the event loop. */
const maxAcceptingMs = 500

/** Serves with `node:http`. */
export async function listenOnNode(fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { createAdaptorServer } = await import('@hono/node-server') // dynamic: only Node loads it
  const { port, host, maxStallMs = 120_000 } = options
  const scheduler = new RequestScheduler()
  const dispatch = createDispatcher(fetch, scheduler, options)
  let isStopping = false
  const server = createAdaptorServer({
    fetch(request, env) {
      const { incoming: { socket }, outgoing } = env as HttpBindings
      // Makes clients open a new connection for their next request, which is then refused. Otherwise they would use
      // this connection while it is being closed.
      if (isStopping) outgoing.setHeader('Connection', 'close')
      SentAnswers.nextRequest(socket)
      if (!outgoing.socket && !queueAnswer(socket, outgoing as ServerResponse)) return unread()
      return dispatch(request, new NodeRequest(env as HttpBindings))
    },
    // Used only in URLs. The edge reads the header instead.
    hostname: 'localhost',
    serverOptions: { headersTimeout: 15_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 },
  }) as Server
  server.setTimeout(maxStallMs)
  let accepted = 0
  server.on('connection', () => {
    accepted++
    scheduler.accepted()
  })
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
      const resume = scheduler.pause()
      await backlogAccepted()
      // `http.Server.close` would also close connections whose requests have not been read yet.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
      resume()
      // Closes connections that become idle after their last response. Otherwise they would stay open until a timeout.
      const closeIdle = setInterval(() => server.closeIdleConnections(), arrivingMs)
      await waitAtMost(graceMs, closed)
      clearInterval(closeIdle)
      server.closeAllConnections()
    },
  }

  /** Resolves when no connection waits to be accepted. A connection that is not accepted before the stop is reset. */
  async function backlogAccepted(): Promise<void> {
    const until = performance.now() + maxAcceptingMs
    for (let before = -1; before !== accepted && performance.now() < until;) {
      before = accepted
      await new Promise<void>(nextIteration)
    }
  }
}

/** Responses to requests that Node cannot parse, by error code; 400 for all others. */
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

/** Responds with a JSON body, which Node would not send. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse }
  // If another response has started, the client would read this one as a part of it.
  if (!socket.writable || answer?.headersSent) return void socket.destroy(error)
  const [status, code, message] = unreadable[error.code ?? ''] ??
    ['400 Bad Request', 'invalid_request', 'This is not an HTTP request.']
  const body = JSON.stringify({ error: { code, message } })
  const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close']
  socket.write([`HTTP/1.1 ${status}`, ...headers, '', body].join('\r\n'))
  socket.destroySoon()
}

/**
 * Adds an empty Host header if it is missing, which HTTP/1.0 allows. The request's URL would not show that it is
 * missing. @see RFC 9112 §3.2
 */
function addMissingHost(request: IncomingMessage): void {
  if (request.headers.host === undefined && request.url?.startsWith('/')) request.rawHeaders.push('Host', '')
}

/**
 * Closes the connection if a body arrives in tiny chunks. This also protects requests whose body no handler reads,
 * because the adapter reads it to the end.
 */
function refuseTinyChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const areTiny = tinyChunkCounter()
  const { push } = request
  request.push = (chunk, encoding) => {
    if (chunk === null || !areTiny(chunk.length)) return push.call(request, chunk, encoding)
    // Discards data that has already been parsed.
    request.push = () => false
    refuseUnreadable(Object.assign(new Error(tinyChunks), { code: 'TINY_CHUNKS' }), request.socket)
    return false
  }
}

/**
 * Maximum number of responses on a connection that wait for earlier ones. HTTP/1.1 clients usually send one request at
 * a time. Clients that pipeline must get all responses before a connection closes. @see RFC 9112 §9.3.2
 */
const maxPipelined = 15

const queuedAnswers = new WeakMap<Socket, Set<ServerResponse>>()

/**
 * Queues a response behind others on its connection. Returns false and closes the connection if too many are queued.
 */
function queueAnswer(socket: Socket, answer: ServerResponse): boolean {
  const queued = queuedAnswers.get(socket) ?? new Set()
  if (queued.size >= maxPipelined) {
    socket.destroy()
    return false
  }
  if (!queuedAnswers.has(socket)) {
    queuedAnswers.set(socket, queued)
    // When a connection closes, `node:http` notifies only the current response. The queued ones would never release
    // their resources, such as an event stream's slot.
    socket.once('close', () => {
      for (const answer of queued) if (!answer.socket) answer.emit('close')
    })
  }
  queued.add(answer)
  answer.once('close', () => queued.delete(answer))
  return true
}

/** This is a class, because an object literal with a getter would create a hidden class for each request. */
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
    await new Promise<void>(nextIteration)
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

  /** `node:http` closes a connection if the client closes its half. */
  get #isClosed(): boolean {
    const { incoming: { socket }, outgoing } = this.#bindings
    return outgoing.closed || socket.destroyed || socket.readableEnded
  }
}
