/** An HTTP proxy in front of several instances, which sends each request to the next ready one. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { httpRequest } from '../../src/cli/http-request.ts'

export interface RoundRobin {
  port: number
  /** The number of responses per instance, by port. */
  answered: Map<number, number>
  /** Whether the instance on a port was ready at its last check. */
  isReady(port: number): boolean
  /** Checks every instance now. Resolves to the number of ready ones. */
  check(): Promise<number>
  stop(): Promise<void>
}

export interface RoundRobinOptions {
  /** The port to listen on. 0 means any free port. */
  port: number
  /** The instances' ports on this machine. */
  instances: number[]
}

interface Instance {
  port: number
  isReady: boolean
}

const host = '127.0.0.1'
const checkEveryMs = 500

/**
 * Starts a proxy that forwards requests, event streams and long waits. Instances that are not ready are tried last. If
 * a connection is refused, the next instance is tried. A request that was sent is never retried. If an instance dies
 * during a request, the client gets a 502, and can retry safely only with an idempotency key.
 */
export async function startRoundRobin({ port, instances: ports }: RoundRobinOptions): Promise<RoundRobin> {
  const instances: Instance[] = ports.map((port) => ({ port, isReady: false }))
  const answered = new Map(ports.map((port) => [port, 0]))
  let count = 0

  const server = createServer((incoming, response) => {
    const first = count++ % instances.length
    const inTurn = [...instances.slice(first), ...instances.slice(0, first)]
    // Instances that are not ready come last but are still tried, because their last check may only have been slow.
    forward(incoming, response, inTurn.sort((a, b) => Number(b.isReady) - Number(a.isReady)), answered)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') return reject(error)
      reject(
        new Error(`Cannot listen on ${host}:${port}. Another program listens there. Stop it, or use another --port.`),
      )
    })
    server.listen(port, host, resolve)
  })
  const ownPort = (server.address() as AddressInfo).port

  async function check(): Promise<number> {
    await Promise.all(
      instances.map(async (instance) => instance.isReady = await checkReadiness(instance.port, ownPort)),
    )
    return instances.filter(({ isReady }) => isReady).length
  }
  const checks = setInterval(() => void check(), checkEveryMs)

  return {
    port: ownPort,
    answered,
    isReady: (port) => instances.some((instance) => instance.port === port && instance.isReady),
    check,
    stop() {
      clearInterval(checks)
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  [instance, ...others]: Instance[],
  answered: Map<number, number>,
): void {
  if (!instance) return sendError(response, 503, 'No instance of the grid is ready. Repeat the call.')
  let isSent = false
  // Each request uses a new connection, because an instance could close an idle connection just as it is reused.
  const outgoing = request({
    host,
    port: instance.port,
    method: incoming.method,
    path: incoming.url,
    headers: forwardedHeaders(incoming),
    setHost: false,
    agent: false,
  })
  outgoing.on('socket', (socket) =>
    socket.once('connect', () => {
      isSent = true
      incoming.pipe(outgoing)
    }))
  outgoing.on('response', (received) => {
    answered.set(instance.port, answered.get(instance.port)! + 1)
    const { connection: _, 'keep-alive': __, ...headers } = received.headers
    response.writeHead(received.statusCode!, headers)
    // An event stream's headers must be sent before its first event.
    response.flushHeaders()
    received.on('error', () => response.destroy())
    received.pipe(response)
  })
  outgoing.on('error', () => {
    if (response.destroyed) return
    if (!isSent) {
      instance.isReady = false
      forward(incoming, response, others, answered)
    } else if (response.headersSent) {
      response.destroy()
    } else {
      sendError(response, 502, 'The instance was lost during this call. Repeat it with the same idempotency key.')
    }
  })
  response.on('close', () => outgoing.destroy())
}

function forwardedHeaders({ headers, socket }: IncomingMessage) {
  const { expect: _, ...others } = headers
  const via = headers['x-forwarded-for']
  const client = socket.remoteAddress ?? ''
  return { ...others, 'x-forwarded-for': via === undefined ? client : `${via}, ${client}`, connection: 'close' }
}

function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Retry-After': '1' })
  response.end(JSON.stringify({ error: { code: 'unavailable', message } }))
}

/** Sends the public host name, because the grid refuses other hosts. */
async function checkReadiness(port: number, ownPort: number): Promise<boolean> {
  const options = { headers: { Host: `localhost:${ownPort}` }, timeoutMs: 2_000 }
  return await httpRequest(`http://${host}:${port}/readyz`, options).then(({ status }) => status === 200, () => false)
}
