/** What every handler is given of one request, whichever door it belongs to. Types only. */
import type { Context } from 'hono'
import type { Connection } from './listen.ts'

/** What Hono's context holds: the connection, and the id that names the request in its answer and in the log. */
export interface AppEnv {
  Bindings: Connection
  Variables: { requestId: string }
}

export type AppContext = Context<AppEnv>

export type Handler = (c: AppContext) => Response | Promise<Response>
