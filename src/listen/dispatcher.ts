/** What the servers of all runtimes do with a request: it is served when its caller is due. */
import type { ConnectionReports } from '../lib/http/caller-connection.ts'
import type { UncheckedRequest } from '../lib/http/client-address.ts'
import type { RequestScheduler } from '../lib/limits/request-scheduler.ts'

/** What a handler knows about the connection of a request. */
export interface Connection extends ConnectionReports {
  /** The IP address of the other end of the socket. */
  readonly remoteAddress: string
  /** Who sent the request, according to `callerOf`. Undefined if the request was not scheduled. */
  readonly caller?: string
  /** For how long the request waited for its turn. `Infinity`: too many others did. */
  readonly waitedMs?: number
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
  /** Who sent a request. By default the remote address. */
  callerOf?: CallerOf
  /** A client that takes nothing of its answer for this long is disconnected: by default 2 minutes, on Bun 30 s. */
  maxStallMs?: number
}

/** The caller of a request. */
type CallerOf = (request: UncheckedRequest) => string

/** Callers take turns for these paths apart from all else: a supervisor must hear that a busy process is alive. */
const healthPaths = /^\/(?:healthz|readyz|metrics)\/?(?:\?|$)/

/** A request as a server received it, and its connection. */
export interface ReceivedRequest extends Connection, UncheckedRequest {
  caller?: string
  waitedMs?: number
  readonly method: string | undefined
  readonly path: string | undefined
  /** The connection is closed: an answer would not be read. */
  readonly isGone: boolean
}

/** Serves each request when its caller is due. */
export function createDispatcher(
  fetch: FetchHandler,
  scheduler: RequestScheduler,
  { callerOf = ({ remoteAddress }) => remoteAddress }: ListenOptions,
): (request: Request, received: ReceivedRequest) => Response | Promise<Response> {
  function serve(request: Request, received: ReceivedRequest, waitedMs: number): Response | Promise<Response> {
    received.waitedMs = waitedMs
    return fetch(request, received)
  }

  return function dispatch(request, received) {
    const caller = received.caller = callerOf(received)
    const turn = scheduler.turn(isHealthCheck(received) ? `health ${caller}` : caller)
    return typeof turn === 'number'
      ? serve(request, received, turn)
      : turn.then((waitedMs) => received.isGone ? unread() : serve(request, received, waitedMs))
  }
}

function isHealthCheck({ method, path }: ReceivedRequest): boolean {
  return healthPaths.test(path ?? '') && (method === 'GET' || method === 'HEAD')
}

/** The answer on a connection that is closed. */
export function unread(): Response {
  return new Response(null, { status: 503 })
}

/**
 * For how long a server that stops still reads what has arrived. A connection that is closed with a
 * request in it is reset, and the request is lost although it was begun before.
 */
export const arrivingMs = 50

/** Resolves with `done`, and after `ms` at the latest. */
export async function waitAtMost(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done, timeout]).finally(() => clearTimeout(timer))
}
