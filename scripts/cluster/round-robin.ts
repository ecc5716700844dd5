/** A plain HTTP proxy in front of several instances: each request goes to the next one that is ready. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ask } from '../../src/cli/ask.ts'

export interface RoundRobin {
  port: number
  /** How many requests each instance answered, by its port. */
  answered: Map<number, number>
  /** Whether the instance on a port was ready when it was last asked. */
  isReady(port: number): boolean
  /** Ask every instance now whether it is ready; how many are. */
  check(): Promise<number>
  stop(): Promise<void>
}

export interface RoundRobinOptions {
  /** 0 takes any free one. */
  port: number
  /** Ports of the instances on this machine. */
  instances: number[]
}

interface Target {
  port: number
  isReady: boolean
}

const host = '127.0.0.1'
const checkEveryMs = 500

/**
 * Pass requests on as they come, event streams and long waits included. An instance that is not ready is the
 * last to be asked, and where a connection is refused the next one is tried. What was sent is never sent again: an instance
 * that dies under a request is a 502, whose outcome only the client's idempotency key can settle.
 */
export async function startRoundRobin({ port, instances }: RoundRobinOptions): Promise<RoundRobin> {
  const targets: Target[] = instances.map((port) => ({ port, isReady: false }))
  const answered = new Map(instances.map((port) => [port, 0]))
  let turn = 0

  const server = createServer((incoming, answer) => {
    const first = turn++ % targets.length
    const inTurn = [...targets.slice(first), ...targets.slice(0, first)]
    // Those that were not ready come last: all may only have been slow to say so.
    pass(incoming, answer, inTurn.sort((a, b) => Number(b.isReady) - Number(a.isReady)), answered)
  })
  await new Promise<void>((ready, failed) => {
    server.once('error', failed)
    server.listen(port, host, ready)
  })
  const ownPort = (server.address() as AddressInfo).port

  async function check(): Promise<number> {
    await Promise.all(targets.map(async (target) => target.isReady = await saysReady(target.port, ownPort)))
    return targets.filter(({ isReady }) => isReady).length
  }
  const checks = setInterval(() => void check(), checkEveryMs)

  return {
    port: ownPort,
    answered,
    isReady: (port) => targets.some((target) => target.port === port && target.isReady),
    check,
    stop() {
      clearInterval(checks)
      server.closeAllConnections()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
}

function pass(
  incoming: IncomingMessage,
  answer: ServerResponse,
  [target, ...others]: Target[],
  answered: Map<number, number>,
): void {
  if (!target) return refuse(answer, 503, 'No instance of the grid is ready. Repeat the call.')
  let isSent = false
  // A connection for each request: one that was kept could be closed by the instance just when it is used.
  const outgoing = request({
    host,
    port: target.port,
    method: incoming.method,
    path: incoming.url,
    headers: forwarded(incoming),
    setHost: false,
    agent: false,
  })
  outgoing.on('socket', (socket) =>
    socket.once('connect', () => {
      isSent = true
      incoming.pipe(outgoing)
    }))
  outgoing.on('response', (response) => {
    answered.set(target.port, answered.get(target.port)! + 1)
    const { connection: _, 'keep-alive': __, ...headers } = response.headers
    answer.writeHead(response.statusCode!, headers)
    // The head of an event stream goes out before its first event.
    answer.flushHeaders()
    response.on('error', () => answer.destroy())
    response.pipe(answer)
  })
  outgoing.on('error', () => {
    if (answer.destroyed) return
    if (!isSent) {
      target.isReady = false
      pass(incoming, answer, others, answered)
    } else if (answer.headersSent) {
      answer.destroy()
    } else {
      refuse(answer, 502, 'The instance was lost under this call. Repeat it with the same idempotency key.')
    }
  })
  answer.on('close', () => outgoing.destroy())
}

function forwarded({ headers, socket }: IncomingMessage) {
  const { expect: _, ...others } = headers
  const via = headers['x-forwarded-for']
  const client = socket.remoteAddress ?? ''
  return { ...others, 'x-forwarded-for': via === undefined ? client : `${via}, ${client}`, connection: 'close' }
}

function refuse(answer: ServerResponse, status: number, message: string): void {
  answer.writeHead(status, { 'Content-Type': 'application/json', 'Retry-After': '1' })
  answer.end(JSON.stringify({ error: { code: 'unavailable', message } }))
}

/** As the grid knows itself: it answers to no other host. */
async function saysReady(port: number, ownPort: number): Promise<boolean> {
  const question = { headers: { Host: `localhost:${ownPort}` }, timeoutMs: 2_000 }
  return await ask(`http://${host}:${port}/readyz`, question).then(({ status }) => status === 200, () => false)
}
