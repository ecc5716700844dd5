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

/** The part of the Bun API that this file uses. */
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

/** Serve with `Bun.serve`. */
export async function listenOnBun(Bun: BunRuntime, fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { port, host } = options
  const dispatch = createDispatcher(fetch, new RequestScheduler(), options)
  const server = await Bun.serve({
    port,
    hostname: host,
    // Longer than the heartbeat interval of streams; Bun's default of 10 s would cut them.
    idleTimeout: 30,
    fetch: (request, bun) => dispatch(request, new BunRequest(request, bun)),
  })
  return {
    port: server.port,
    async stop(graceMs) {
      await sleep(arrivingMs)
      await waitAtMost(graceMs, server.stop())
      await server.stop(true)
    },
  }
}
