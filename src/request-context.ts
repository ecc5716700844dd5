/** The request context for handlers of all doors. Contains only types. */
import type { Context } from 'hono'
import type { CallTrace } from './call-trace.ts'
import type { Connection } from './listen.ts'

/** The variables in Hono's context: the connection, and the call data for the log. */
export interface AppEnv {
  Bindings: Connection
  Variables: { trace: CallTrace }
}

export type AppContext = Context<AppEnv>

export type Handler = (c: AppContext) => Response | Promise<Response>

/** A method or `ALL`, the paths, and their handler. */
export type Route = [method: string, paths: string | readonly string[], handler: Handler]
