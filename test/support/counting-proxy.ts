/** Forwards requests to a server with a delay. Counts how many responses a caller had to wait for in sequence. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface CountingProxy {
  url: string
  /** The total number of requests. */
  requests: number
  /** The number of requests that began while no other was in progress. */
  rounds: number
  close(): void
}

export async function countingProxy(url: string, delayMs = 0): Promise<CountingProxy> {
  const { port } = new URL(url.replace(/^libsql:/, 'http:'))
  let underWay = 0
  const server = createServer(async (incoming, outgoing) => {
    proxy.requests++
    if (underWay++ === 0) proxy.rounds++
    outgoing.on('close', () => underWay--)
    if (delayMs > 0) await sleep(delayMs)
    const { method, headers, url: path } = incoming
    const passed = request({ host: 'localhost', port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  const proxy = {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    requests: 0,
    rounds: 0,
    close: () => void server.close(),
  }
  return proxy
}
