/** What every handler is given of one request, whichever door it belongs to. Types only. */
import type { Context } from 'hono'
import type { CallTrace } from './call-trace.ts'
import type { Connection } from './listen.ts'

/** What Hono's context holds: the connection, and what the log will say of the call. */
export interface AppEnv {
  Bindings: Connection
  Variables: { trace: CallTrace }
}

export type AppContext = Context<AppEnv>

export type Handler = (c: AppContext) => Response | Promise<Response>

/** A method, or `ALL`; the paths; and what answers them. */
export type Route = [method: string, paths: string | readonly string[], handler: Handler]
