import { type AddressInfo, createServer } from 'node:net'

/** A port that was free a moment ago: for addresses that must be known before anybody listens on them. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer()
  await new Promise<void>((ready, failed) => {
    server.once('error', failed)
    server.listen(0, host, ready)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}
