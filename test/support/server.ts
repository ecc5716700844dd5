/** A test grid that real clients reach through a socket. */
import { freePort } from '../../src/lib/free-port.ts'
import { listen } from '../../src/listen.ts'
import { closing } from './closing.ts'
import { emptyGrid, testGrid, type TestGridOptions } from './grid.ts'

export type LiveGrid = Awaited<ReturnType<typeof liveGrid>>

/**
 * Starts `testGrid()` behind a server. `url` is the configured URL, with the host `host` (default 127.0.0.1). `close()`
 * closes the grid and the server.
 */
export function liveGrid(options: TestGridOptions & { host?: 'localhost' } = {}, wantedPort?: number) {
  return behindServer(testGrid, options, wantedPort)
}

/** Like `liveGrid`, but without accounts. */
export function emptyLiveGrid(options: TestGridOptions = {}) {
  return behindServer(emptyGrid, options)
}

async function behindServer<T extends Awaited<ReturnType<typeof emptyGrid>>>(
  make: (options: TestGridOptions) => Promise<T>,
  { host = '127.0.0.1', ...options }: TestGridOptions & { host?: string },
  wantedPort?: number,
) {
  const port = wantedPort ?? await freePort()
  const url = `http://${host}:${port}`
  const grid = await make({ ...options, env: { PORT: `${port}`, BASE_URL: url, ...options.env } })
  const server = await listen((request, connection) => grid.app.fetch(request, connection), { port, host: '127.0.0.1' })
  return {
    ...grid,
    url,
    close: closing(async () => {
      await server.stop(1_000)
      await grid.close()
    }),
  }
}
