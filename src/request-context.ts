/** What every handler is given of one request, whichever door it belongs to. Types only. */
import type { Connection } from './listen.ts'

export interface RequestContext {
  readonly request: Request
  /** Names the request in its answer and in the log. */
  readonly requestId: string
  /** The address of the client, as limits count it: behind a trusted proxy, the one that the proxy names. */
  readonly clientAddress: string
  readonly connection: Connection
  /** A parameter in the path of the route, decoded; empty if the route has none of this name. */
  param(name: string): string
}

export type Handler = (context: RequestContext) => Response | Promise<Response>

/** What Hono's own context holds: the connection, and what the edge adds. */
export interface AppEnv {
  Bindings: Connection
  Variables: { requestId: string }
}
