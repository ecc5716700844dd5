/** `listen()` on Node and Deno. */
import type { HttpBindings } from '@hono/node-server'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorCode } from '../errors.ts'
import { SentAnswers, untilSent } from '../lib/http/sent-answers.ts'
import { nextIteration } from '../lib/next-iteration.ts'
import {
  arrivingMs,
  Dispatcher,
  type FetchHandler,
  isHealthCheck,
  type Listener,
  type ListenOptions,
  refuse,
  ScheduledRequest,
  waitAtMost,
} from './dispatcher.ts'

/** How many connections may wait to be accepted. The system may allow fewer; beyond, clients try again after a second. */
const backlog = 4_096

/** Serve with `node:http`. */
export async function listenOnNode(fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { createAdaptorServer } = await import('@hono/node-server') // dynamic: only Node loads it
  const { port, host } = options
  const dispatcher = new Dispatcher(fetch, options)
  let isStopping = false
  const server = createAdaptorServer({
    fetch(request, env) {
      const { incoming: { socket }, outgoing } = env as HttpBindings
      // Clients send their next request over a new connection, which is refused, and not over one that is closed.
      if (isStopping) outgoing.setHeader('Connection', 'close')
      SentAnswers.nextRequest(socket)
      const scheduled = NodeRequest.begin(env as HttpBindings)
      return scheduled ? dispatcher.dispatch(request, scheduled) : refuse()
    },
    serverOptions: { headersTimeout: 15_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 },
  }) as Server
  server.on('connection', () => dispatcher.scheduler.accepted())
  server.on('clientError', refuseUnreadable)
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

/**
 * How many requests of one connection may be without an answer. HTTP/1.1 clients send one at a time; few send more
 * before the answer, and all of these must be ready for a connection that ends. @see RFC 9112 §9.3.2
 */
const maxPipelined = 16

/** The requests of one connection. */
class Pipeline {
  /** How many have no answer yet. */
  unanswered = 0
  /** The answers behind another one. */
  readonly #queued = new Set<ServerResponse>()

  constructor(socket: Socket) {
    // `node:http` reports the end of a connection only to the answer that is its turn. The others would keep what they
    // hold for ever, such as the place of an event stream.
    socket.once('close', () => {
      for (const answer of this.#queued) if (!answer.socket) answer.emit('close')
    })
  }

  /** An answer that waits for others. */
  queue(answer: ServerResponse): void {
    this.#queued.add(answer)
    answer.once('close', () => this.#queued.delete(answer))
  }
}

/** These are classes: an object with a getter of its own would cost a hidden class for each request. */
class NodeRequest extends ScheduledRequest {
  static readonly #pipelines = new WeakMap<Socket, Pipeline>()

  readonly #bindings: HttpBindings
  readonly #pipeline: Pipeline

  private constructor(bindings: HttpBindings, pipeline: Pipeline) {
    super()
    this.#bindings = bindings
    this.#pipeline = pipeline
  }

  /** A request has arrived. Undefined, and its connection is closed, if too many on it have no answer yet. */
  static begin(bindings: HttpBindings): NodeRequest | undefined {
    const { incoming: { socket }, outgoing } = bindings
    let pipeline = NodeRequest.#pipelines.get(socket)
    if (!pipeline) NodeRequest.#pipelines.set(socket, pipeline = new Pipeline(socket))
    if (pipeline.unanswered >= maxPipelined) {
      socket.destroy()
      return undefined
    }
    pipeline.unanswered++
    if (!outgoing.socket) pipeline.queue(outgoing as ServerResponse)
    return new NodeRequest(bindings, pipeline)
  }

  override answered(): void {
    super.answered()
    this.#pipeline.unanswered--
  }

  get isGone(): boolean {
    return this.#bindings.incoming.socket.destroyed
  }

  header(name: string): string | null {
    return this.#bindings.incoming.headers[name]?.toString() ?? null
  }

  get isHealthCheck(): boolean {
    const { method, url } = this.#bindings.incoming
    return isHealthCheck(method, url)
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
