/**
 * A proxy for programs that cannot send a token. It adds a token and forwards everything else, including `Host` and
 * `Origin`.
 */
import { createServer, request } from 'node:http'

export interface AuthProxy {
  stop(): Promise<void>
}

/** Forwards requests from `port` to the server at `target`, with the token added. */
export async function startAuthProxy(port: number, target: string, token: string): Promise<AuthProxy> {
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` }
    const outgoing = request(new URL(incoming.url!, target), { method: incoming.method, headers, setHost: false })
    outgoing.on('response', (response) => {
      answer.writeHead(response.statusCode!, response.headers)
      response.pipe(answer)
    })
    outgoing.on('error', () => answer.destroy())
    answer.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((ready) => server.listen(port, 'localhost', ready))
  return {
    stop() {
      server.closeAllConnections()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
}
