/** `listen()` on Bun. */
import { setTimeout as sleep } from 'node:timers/promises'
import { RequestScheduler } from '../lib/limits/request-scheduler.ts'
import {
  arrivingMs,
  createDispatcher,
  type FetchHandler,
  type Listener,
  type ListenOptions,
  type ReceivedRequest,
  waitAtMost,
} from './dispatcher.ts'

/** The subset of Bun's API that this file uses. */
export interface BunRuntime {
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
  /** Sets the idle timeout of a request's connection in seconds. 0 means none. */
  timeout(request: Request, seconds: number): void
  stop(closeActive?: boolean): Promise<void>
}

class BunRequest implements ReceivedRequest {
  caller?: string
  waitedMs?: number
  readonly #request: Request
  readonly #server: BunServer

  constructor(request: Request, server: BunServer) {
    this.#request = request
    this.#server = server
  }

  get remoteAddress(): string {
    return this.#server.requestIP(this.#request)?.address ?? ''
  }

  header(name: string): string | null {
    return this.#request.headers.get(name)
  }

  get method(): string {
    return this.#request.method
  }

  get path(): string {
    const { url } = this.#request
    return url.slice(url.indexOf('/', 'https://'.length))
  }

  get isGone(): boolean {
    return this.#request.signal.aborted
  }
}

/** Serves with `Bun.serve`. */
export async function listenOnBun(Bun: BunRuntime, fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { port, host, maxStallMs = 30_000 } = options
  const idleSeconds = maxStallMs / 1_000
  const scheduler = new RequestScheduler()
  const dispatch = createDispatcher(fetch, scheduler, options)
  const server = await Bun.serve({
    port,
    hostname: host,
    // Longer than the heartbeat interval of streams. Bun's default of 10 s would close them.
    idleTimeout: idleSeconds,
    async fetch(request, bun) {
      const received = new BunRequest(request, bun)
      if (mayHaveBody(request)) return await dispatch(named(request), received)
      // Disables the idle timeout until the response is ready. It applies again while the client receives the response.
      bun.timeout(request, 0)
      const response = await dispatch(named(request), received)
      bun.timeout(request, idleSeconds)
      return response
    },
  })
  return {
    port: server.port,
    async stop(graceMs) {
      await sleep(arrivingMs)
      // Bun accepts all waiting connections while no request is served. The stop would reset those not yet accepted.
      const resume = scheduler.pause()
      await sleep(1)
      const stopped = server.stop()
      resume()
      await waitAtMost(graceMs, stopped)
      await server.stop(true)
    },
  }
}

/** Whether the idle timeout stays on against slow senders of a body. Bun applies it only until the body has arrived. */
function mayHaveBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0'
}

/**
 * HTTP/1.0 does not require a Host. If it is missing or invalid, Bun gives the request a relative URL. This function
 * makes the URL absolute and sets a missing Host to an empty one.
 * @see RFC 9112 §3.2
 */
function named(request: Request): Request {
  if (!request.url.startsWith('/')) return request
  const whole = new Request(`http://localhost${request.url}`, request)
  if (!whole.headers.has('host')) whole.headers.set('host', '')
  return whole
}
