/**
 * One `listen()` for Node, Deno and Bun. Only this file depends on the runtime.
 *
 * Deno is served by `node:http`, as Node is: `Deno.serve` has no time limits for requests, takes headers of any size,
 * closes connections that their clients use again, and cannot say what became of an answer.
 */
import type { HttpBindings } from '@hono/node-server'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { ErrorCode } from './errors.ts'
import type { ConnectionReports } from './lib/caller-connection.ts'
import { RequestTurns, type Turn, type Waited } from './lib/request-turns.ts'
import { SentAnswers, untilSent } from './lib/sent-answers.ts'

/** What a handler knows about the connection of a request. Bun reports nothing more. */
export interface Connection extends ConnectionReports {
  /** The IP address of the other end of the socket. */
  readonly remoteAddress: string
}

export type FetchHandler = (request: Request, connection: Connection) => Response | Promise<Response>

export interface Listener {
  port: number
  /** Accept no new connections. Resolves when all running requests are answered, or after `graceMs`. */
  stop(graceMs: number): Promise<void>
}

export interface ListenOptions {
  /** 0 means any free port. */
  port: number
  host: string
  /** Told how long requests wait until they are served. */
  waited?: Waited
  /** Who sent a request: callers take turns. By default the remote address. */
  callerOf?: CallerOf
}

/** Names the caller of a request, by the values of its headers and its connection. */
export type CallerOf = (header: (name: string) => string | null, connection: Connection) => string

const byAddress: CallerOf = (_, { remoteAddress }) => remoteAddress

/** Serve on `host` and `port`. */
export function listen(fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { Bun } = globalThis as { Bun?: BunRuntime }
  if (Bun) return listenOnBun(Bun, fetch, options)
  return listenOnNode(fetch, options)
}

/** The part of the Bun API that this file uses. */
interface BunRuntime {
  serve(options: {
    port: number
    hostname: string
    idleTimeout: number
    fetch(request: Request, bun: BunServer): Response | Promise<Response>
  }): BunServer
}

interface BunServer {
  port: number
  requestIP(request: Request): { address: string } | null
  stop(closeActive?: boolean): Promise<void>
}

/** Requests to these paths never wait for a turn: a supervisor must hear that a busy process is alive. */
const urgentPaths = ['/healthz', '/readyz']

/** The path and query of a request, without parsing its URL. */
function pathOf({ url }: Request): string {
  return url.slice(url.indexOf('/', 'https://'.length))
}

/** Serve a request in its turn. A caller that left while it waited gets no work done; nobody reads that answer. */
function serveInTurn(
  turns: RequestTurns,
  callerOf: CallerOf,
  fetch: FetchHandler,
  request: Request,
  connection: Connection,
): Response | Promise<Response> {
  if (urgentPaths.includes(pathOf(request))) return fetch(request, connection)
  const caller = callerOf((name) => request.headers.get(name), connection)
  const turn = turns.take(false, caller)
  if (!(turn instanceof Promise)) return untilAnswered(turn, fetch(request, connection))
  return turn.then((turn) => untilAnswered(turn, request.signal.aborted ? unread() : fetch(request, connection)))
}

/** End the turn when there is an answer. */
function untilAnswered(turn: Turn, answer: Response | Promise<Response>): Response | Promise<Response> {
  if (answer instanceof Promise) answer.then(turn.end, turn.end)
  else turn.end()
  return answer
}

function unread(): Response {
  return new Response(null, { status: 503 })
}

/** How many connections may wait to be accepted. The system may allow fewer; beyond, clients try again after a second. */
const backlog = 4_096

/**
 * For how long a server that stops still reads what has arrived. A connection that is closed with a
 * request in it is reset, and the request is lost although it was begun before.
 */
const arrivingMs = 50

async function listenOnNode(
  fetch: FetchHandler,
  { port, host, waited, callerOf = byAddress }: ListenOptions,
): Promise<Listener> {
  const { createAdaptorServer } = await import('@hono/node-server') // dynamic: only Node loads it
  const turns = new RequestTurns(waited)
  /** Connections that have sent no request yet. */
  const fresh = new WeakSet<Socket>()
  let isStopping = false
  const server = createAdaptorServer({
    fetch(request, env) {
      const connection = new NodeConnection(env as HttpBindings)
      const { incoming: { socket, url, headers }, outgoing } = env as HttpBindings
      // Clients send their next request over a new connection, which is refused, and not over one that is closed.
      if (isStopping) outgoing.setHeader('Connection', 'close')
      SentAnswers.nextRequest(socket)
      if (urgentPaths.includes(url ?? '')) return fetch(request, connection)
      const caller = callerOf((name) => headers[name]?.toString() ?? null, connection)
      const turn = turns.take(fresh.delete(socket), caller)
      if (!(turn instanceof Promise)) return untilAnswered(turn, fetch(request, connection))
      return turn.then((turn) => untilAnswered(turn, socket.destroyed ? unread() : fetch(request, connection)))
    },
    serverOptions: { headersTimeout: 15_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 },
  }) as Server
  server.on('connection', (socket: Socket) => {
    fresh.add(socket)
    turns.accepted()
  })
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
      await connectionTurn()
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

/** Resolves when the event loop has looked at the connections. On Deno it does so for timers only. */
const connectionTurn: () => Promise<void> = 'Deno' in globalThis ? () => sleep(0) : () => setImmediate()
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

/** Connections are classes: an object with a getter of its own would cost a hidden class for each request. */
class NodeConnection implements Connection {
  readonly #bindings: HttpBindings

  constructor(bindings: HttpBindings) {
    this.#bindings = bindings
  }

  get remoteAddress(): string {
    return this.#bindings.incoming.socket.remoteAddress ?? ''
  }

  async hasLeft(): Promise<boolean> {
    await connectionTurn()
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

class BunConnection implements Connection {
  readonly #request: Request
  readonly #server: BunServer

  constructor(request: Request, server: BunServer) {
    this.#request = request
    this.#server = server
  }

  get remoteAddress(): string {
    return this.#server.requestIP(this.#request)?.address ?? ''
  }
}

async function listenOnBun(
  Bun: BunRuntime,
  fetch: FetchHandler,
  { port, host, waited, callerOf = byAddress }: ListenOptions,
): Promise<Listener> {
  const turns = new RequestTurns(waited)
  const server = await Bun.serve({
    port,
    hostname: host,
    // Longer than the heartbeat interval of streams; Bun's default of 10 s would cut them.
    idleTimeout: 30,
    fetch: (request, bun) => serveInTurn(turns, callerOf, fetch, request, new BunConnection(request, bun)),
  })
  return {
    port: server.port,
    async stop(graceMs) {
      await sleep(arrivingMs)
      await waitAtMost(graceMs, server.stop())
      await server.stop(true)
    },
  }
}

async function waitAtMost(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done, timeout]).finally(() => clearTimeout(timer))
}
