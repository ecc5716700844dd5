import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A callback server on a free loopback port. */
export interface Callback {
  url: string
  /** Resolves to the query parameters of the next request. */
  next(): Promise<URLSearchParams>
  close(): Promise<void>
}

/** Starts a callback server. `host` is the loopback host's name in the URL. */
export async function callbackServer(host = '127.0.0.1'): Promise<Callback> {
  const visits: URLSearchParams[] = []
  const waiting: ((query: URLSearchParams) => void)[] = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://callback')
    response.end('You can close this page.')
    if (pathname !== '/callback') return
    const next = waiting.shift()
    if (next) next(searchParams)
    else visits.push(searchParams)
  })
  await new Promise<void>((listening) => server.listen(0, host.replace(/[[\]]/g, ''), listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}/callback`,
    next() {
      const visit = visits.shift()
      return visit ? Promise.resolve(visit) : new Promise((resolve) => waiting.push(resolve))
    },
    close() {
      server.closeAllConnections()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
}
