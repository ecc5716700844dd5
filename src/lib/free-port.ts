import { type AddressInfo, createServer } from 'node:net'

/**
 * Returns a port that is free now, for URLs that must be known before a server listens. Fails if `wanted` is not free.
 */
export async function freePort(host = '127.0.0.1', wanted = 0): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(wanted, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
