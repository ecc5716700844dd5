/** Schedules requests in the servers of all runtimes. A request is served when it is its caller's turn. */
import type { ConnectionReports } from '../lib/http/caller-connection.ts'
import type { UncheckedRequest } from '../lib/http/client-address.ts'
import type { RequestScheduler } from '../lib/limits/request-scheduler.ts'

/** A request's connection as handlers see it. */
export interface Connection extends ConnectionReports {
  /** The socket's remote IP address. */
  readonly remoteAddress: string
  /** The sender of the request, as identified by `callerOf`. Undefined if the request was not scheduled. */
  readonly caller?: string
  /** How long the request waited for its turn. `Infinity` means that too many other requests were waiting. */
  readonly waitedMs?: number
}

export type FetchHandler = (request: Request, connection: Connection) => Response | Promise<Response>

export interface Listener {
  port: number
  /** Stops accepting connections. Resolves when all running requests have been answered, or after `graceMs`. */
  stop(graceMs: number): Promise<void>
}

export interface ListenOptions {
  /** 0 selects any free port. */
  port: number
  host: string
  /** Identifies a request's sender. Defaults to the remote address. */
  callerOf?: CallerOf
  /**
   * Time after which a client that receives nothing of its response is disconnected. Default: 2 minutes, on Bun 30 s.
   */
  maxStallMs?: number
}

/** Identifies the caller of a request. */
type CallerOf = (request: UncheckedRequest) => string

/** Paths with a separate queue, so that a supervisor can tell that a busy process is alive. */
const healthPaths = /^\/(?:healthz|readyz|metrics)\/?(?:\?|$)/

/** A request as received by a server, with its connection. */
export interface ReceivedRequest extends Connection, UncheckedRequest {
  caller?: string
  waitedMs?: number
  readonly method: string | undefined
  readonly path: string | undefined
  /** Whether the connection is closed, so that the client could not read a response. */
  readonly isGone: boolean
}

/** Serves each request when it is its caller's turn. */
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

/** Returns the response for a closed connection. */
export function unread(): Response {
  return new Response(null, { status: 503 })
}

/**
 * How long a stopping server continues to read requests. If it closed a connection with an unread request, the
 * connection would be reset and the request lost, even if it was sent before the stop.
 */
export const arrivingMs = 50

/** Resolves when `done` resolves, or after `ms` at the latest. */
export async function waitAtMost(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done, timeout]).finally(() => clearTimeout(timer))
}
