/** Request scheduling shared by the servers of all runtimes: requests are served when it is their caller's turn. */
import type { ConnectionReports } from '../lib/http/caller-connection.ts'
import type { UncheckedRequest } from '../lib/http/client-address.ts'
import type { RequestScheduler } from '../lib/limits/request-scheduler.ts'

/** A request's connection as handlers see it. */
export interface Connection extends ConnectionReports {
  /** The socket's remote IP address. */
  readonly remoteAddress: string
  /** The request's sender, according to `callerOf`. Undefined if the request was not scheduled. */
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
   * A client that receives nothing of its response for this long is disconnected: by default 2 minutes, on Bun 30 s.
   */
  maxStallMs?: number
}

/** The request's caller. */
type CallerOf = (request: UncheckedRequest) => string

/** These paths have a separate queue, so that a supervisor can tell that a busy process is alive. */
const healthPaths = /^\/(?:healthz|readyz|metrics)\/?(?:\?|$)/

/** A request as received by a server, with its connection. */
export interface ReceivedRequest extends Connection, UncheckedRequest {
  caller?: string
  waitedMs?: number
  readonly method: string | undefined
  readonly path: string | undefined
  /** Whether the connection is closed, so that a response would not be read. */
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

/** The response on a closed connection. */
export function unread(): Response {
  return new Response(null, { status: 503 })
}

/**
 * How long a stopping server still reads arriving requests. Closing a connection that contains an unread request would
 * reset it and lose the request, even if it was sent before the stop.
 */
export const arrivingMs = 50

/** Resolves when `done` does, but after `ms` at the latest. */
export async function waitAtMost(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done, timeout]).finally(() => clearTimeout(timer))
}
