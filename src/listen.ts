/** One `listen()` for Node, Deno and Bun. Only this file depends on the runtime. */
import type { HttpBindings } from '@hono/node-server'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { RequestTurns, type Turn, type Waited } from './lib/request-turns.ts'

/** What a handler knows about the connection of a request. */
export interface Connection {
  /** The IP address of the other end of the socket. */
  readonly remoteAddress: string
  /**
   * Call this before the handler returns its response. Resolves to whether the operating system accepted the whole
   * response; it may still be lost on the way. Missing on Bun and Deno, which do not report it.
   */
  answerTaken?(): Promise<boolean>
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
  const { Deno, Bun } = globalThis as { Deno?: DenoRuntime; Bun?: BunRuntime }
  if (Deno) return listenOnDeno(Deno, fetch, options)
  if (Bun) return listenOnBun(Bun, fetch, options)
  return listenOnNode(fetch, options)
}

/** The part of the Deno API that this file uses. Deno's types are not loaded on the other runtimes. */
interface DenoRuntime {
  serve(
    options: { port: number; hostname: string; onListen(): void },
    handler: (request: Request, info: { remoteAddr: { hostname: string } }) => Response | Promise<Response>,
  ): { addr: { port: number }; shutdown(): Promise<void> }
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

async function listenOnNode(
  fetch: FetchHandler,
  { port, host, waited, callerOf = byAddress }: ListenOptions,
): Promise<Listener> {
  const { createAdaptorServer } = await import('@hono/node-server') // dynamic: only Node loads it
  const turns = new RequestTurns(waited)
  /** Connections that have sent no request yet. */
  const fresh = new WeakSet<Socket>()
  const server = createAdaptorServer({
    fetch(request, env) {
      const connection = new NodeConnection(env as HttpBindings)
      const { incoming: { socket, url, headers } } = env as HttpBindings
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    async stop(graceMs) {
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

/** Connections are classes: an object with a getter of its own would cost a hidden class for each request. */
class NodeConnection implements Connection {
  readonly #bindings: HttpBindings

  constructor(bindings: HttpBindings) {
    this.#bindings = bindings
  }

  get remoteAddress(): string {
    return this.#bindings.incoming.socket.remoteAddress ?? ''
  }

  readonly answerTaken = (): Promise<boolean> => {
    const { incoming: { socket }, outgoing } = this.#bindings
    if (outgoing.closed || socket.destroyed) return Promise.resolve(false)
    return new Promise((resolve) => {
      // Node also emits `finish` if the connection broke during the last write.
      outgoing.once('finish', () => resolve(!socket.errored))
      outgoing.once('close', () => resolve(false))
    })
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

async function listenOnDeno(
  Deno: DenoRuntime,
  fetch: FetchHandler,
  { port, host, waited, callerOf = byAddress }: ListenOptions,
): Promise<Listener> {
  const turns = new RequestTurns(waited)
  const server = await Deno.serve({ port, hostname: host, onListen() {} }, (request, info) => {
    return serveInTurn(turns, callerOf, fetch, request, { remoteAddress: info.remoteAddr.hostname })
  })
  return { port: server.addr.port, stop: (graceMs) => waitAtMost(graceMs, server.shutdown()) }
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
