/** A TCP proxy that can lose the connection to its target. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Proxy {
  url: string
  /** `refuse` closes connections. `stall` accepts connections and stays silent. `pass` forwards connections. */
  become(state: 'pass' | 'refuse' | 'stall'): void
  stop(): Promise<void>
}

/** Forwards connections to the host and port of `url`. */
export async function startProxy(url: string): Promise<Proxy> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let state: 'pass' | 'refuse' | 'stall' = 'pass'

  const server = createServer((client) => {
    track(client)
    if (state === 'refuse') return client.destroy()
    if (state === 'stall') return client.resume()
    const target = connect(Number(port), hostname)
    track(target)
    client.pipe(target).pipe(client)
    client.on('close', () => target.destroy())
    target.on('close', () => client.destroy())
  })
  function track(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }

  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    become(next) {
      state = next
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
