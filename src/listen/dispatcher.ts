/** What the servers of all runtimes do with a request: it is scheduled, and served when its caller is due. */
import type { ErrorCode } from '../errors.ts'
import type { ConnectionReports } from '../lib/http/caller-connection.ts'
import type { Caller, UncheckedRequest } from '../lib/http/caller.ts'
import { RequestScheduler, type SchedulerOptions, type Slot } from '../lib/limits/request-scheduler.ts'

/** What a handler knows about the connection of a request. */
export interface Connection extends ConnectionReports {
  /** The IP address of the other end of the socket. */
  readonly remoteAddress: string
  /** Who sent the request, as `callerOf` told. Undefined if the request was not scheduled. */
  readonly caller?: Caller
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
  scheduling?: SchedulerOptions
  /** Who sent a request. By default the remote address. */
  callerOf?: CallerOf
}

/** The caller of a request. */
export type CallerOf = (request: UncheckedRequest) => Caller

const byAddress: CallerOf = ({ remoteAddress }) => ({ name: remoteAddress, groups: [] })

/** Requests to these paths are a group beside the accounts: a supervisor must hear that a busy process is alive. */
const healthPaths = ['/healthz', '/readyz']
const health = ['health']

/** Answered to a request for which there is no room among those that wait. See docs/security.md, "Overload". */
const tooManyWait = JSON.stringify({
  error: { code: 'unavailable' satisfies ErrorCode, message: 'Too many calls wait. Repeat the call in 2 seconds.' },
})

/** The answer to a request for which there is no room. */
export function refuse(): Response {
  return new Response(tooManyWait, {
    status: 503,
    headers: { 'Content-Type': 'application/json', 'Retry-After': '2' },
  })
}

/** A request that is scheduled, and its connection. */
export abstract class ScheduledRequest implements Connection, UncheckedRequest {
  caller?: Caller
  slot?: Slot

  abstract readonly remoteAddress: string
  abstract header(name: string): string | null
  /** It goes to one of `healthPaths`. */
  abstract readonly isHealthCheck: boolean
  /** The connection is closed: an answer would not be read. */
  abstract readonly isGone: boolean

  releaseSlot(): void {
    this.slot?.release()
  }

  /** The request has its answer, which may not be sent yet. */
  answered(): void {
    this.releaseSlot()
  }
}

/** Serves each request when its caller is due. */
export class Dispatcher {
  readonly scheduler: RequestScheduler
  readonly #fetch: FetchHandler
  readonly #callerOf: CallerOf

  constructor(fetch: FetchHandler, { scheduling, callerOf = byAddress }: ListenOptions) {
    this.scheduler = new RequestScheduler(scheduling)
    this.#fetch = fetch
    this.#callerOf = callerOf
  }

  dispatch(request: Request, scheduled: ScheduledRequest): Response | Promise<Response> {
    const caller = scheduled.caller = this.#callerOf(scheduled)
    const slot = this.scheduler.take(
      scheduled.isHealthCheck ? { name: `${health[0]} ${caller.name}`, groups: health } : caller,
    )
    if (slot === undefined) {
      scheduled.answered()
      return refuse()
    }
    if (!(slot instanceof Promise)) return this.#serve(request, scheduled, slot)
    return slot.then((slot) => {
      if (!scheduled.isGone) return this.#serve(request, scheduled, slot)
      slot.release()
      return refuse()
    })
  }

  #serve(request: Request, scheduled: ScheduledRequest, slot: Slot): Response | Promise<Response> {
    scheduled.slot = slot
    const answer = this.#fetch(request, scheduled)
    const answered = () => scheduled.answered()
    if (answer instanceof Promise) answer.then(answered, answered)
    else answered()
    return answer
  }
}

/** Whether a request only asks how the process is. */
export function isHealthCheck(method: string | undefined, path: string | undefined): boolean {
  return healthPaths.includes(path ?? '') && (method === 'GET' || method === 'HEAD')
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
