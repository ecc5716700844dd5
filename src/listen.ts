/** One `listen()` for Node, Deno and Bun: the only place that knows which runtime this is. */
import type { HttpBindings } from '@hono/node-server'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a handler learns of the connection besides the request. */
export interface Connection {
  /** The address of the socket's other end. */
  readonly remoteAddress: string
  /**
   * Asked before the answer is given: whether all of it was taken off our hands, once that is known. What the system
   * took may still be lost on the way. Missing on Bun, which does not tell, and on Deno, which always says yes.
   */
  delivered?(): Promise<boolean>
}

export type Fetch = (request: Request, connection: Connection) => Response | Promise<Response>

export interface Listener {
  port: number
  /** Take no new connections and resolve when running requests are answered, or after `graceMs`. */
  stop(graceMs: number): Promise<void>
}

/** Serve on `host` and `port`; port 0 takes any free one. */
export function listen(fetch: Fetch, options: { port: number; host: string }): Promise<Listener> {
  const { Deno, Bun } = globalThis as { Deno?: DenoRuntime; Bun?: BunRuntime }
  if (Deno) return listenOnDeno(Deno, fetch, options)
  if (Bun) return listenOnBun(Bun, fetch, options)
  return listenOnNode(fetch, options)
}

type Options = { port: number; host: string }

/** What this file needs of Deno; its types are not loaded on the other runtimes. */
interface DenoRuntime {
  serve(
    options: { port: number; hostname: string; onListen(): void },
    handler: (request: Request, info: { remoteAddr: { hostname: string } }) => Response | Promise<Response>,
  ): { addr: { port: number }; shutdown(): Promise<void> }
}

/** What this file needs of Bun. */
interface BunRuntime {
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

async function listenOnNode(fetch: Fetch, { port, host }: Options): Promise<Listener> {
  const { createAdaptorServer } = await import('@hono/node-server') // dynamic: only Node loads it
  const server = createAdaptorServer({
    fetch: (request, env) =>
      fetch(request, {
        get remoteAddress() {
          return (env as HttpBindings).incoming.socket.remoteAddress ?? ''
        },
        delivered() {
          const { incoming: { socket }, outgoing } = env as HttpBindings
          if (outgoing.closed || socket.destroyed) return Promise.resolve(false)
          return new Promise((known) => {
            // Node tells of a finish also when the connection broke under the last write.
            outgoing.once('finish', () => known(!socket.errored))
            outgoing.once('close', () => known(false))
          })
        },
      }),
    serverOptions: { headersTimeout: 15_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 },
  }) as Server
  await new Promise<void>((ready, failed) => {
    server.once('error', failed)
    server.listen(port, host, ready)
  })
  return {
    port: (server.address() as AddressInfo).port,
    async stop(graceMs) {
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeIdleConnections()
      // A connection whose request is answered now would stay open until its client or a timeout ends it.
      const sweep = setInterval(() => server.closeIdleConnections(), 100)
      await within(graceMs, closed)
      clearInterval(sweep)
      server.closeAllConnections()
    },
  }
}

async function listenOnDeno(Deno: DenoRuntime, fetch: Fetch, { port, host }: Options): Promise<Listener> {
  const server = await Deno.serve({ port, hostname: host, onListen() {} }, (request, info) => {
    return fetch(request, { remoteAddress: info.remoteAddr.hostname })
  })
  return { port: server.addr.port, stop: (graceMs) => within(graceMs, server.shutdown()) }
}

async function listenOnBun(Bun: BunRuntime, fetch: Fetch, { port, host }: Options): Promise<Listener> {
  const server = await Bun.serve({
    port,
    hostname: host,
    // Above the heartbeat of streams; Bun's own default of 10 s would cut them.
    idleTimeout: 30,
    fetch: (request, bun) =>
      fetch(request, {
        get remoteAddress() {
          return bun.requestIP(request)?.address ?? ''
        },
      }),
  })
  return {
    port: server.port,
    async stop(graceMs) {
      await within(graceMs, server.stop())
      await server.stop(true)
    },
  }
}

async function within(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done, late]).finally(() => clearTimeout(timer))
}
