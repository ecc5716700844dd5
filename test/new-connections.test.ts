/** The waiting time of a new connection under load. The long form: `npm run lab -- new-connections`. */
import { afterAll, expect, test, vi } from 'vitest'
import { cleanUp, runtimes, startScript } from '../scripts/bench/server.ts'
import { measureNewConnections } from '../scripts/new-connections/measure.ts'
import { isLong } from './support/long.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

const clients = Number(process.env.CONNECTION_CLIENTS ?? 200)
const seconds = Number(process.env.CONNECTION_SECONDS ?? (isLong ? 5 : 1))

// Node's unmodified server takes 3 to 5 seconds here, and serves only some of the clients. Each of the two requests
// takes a millisecond.
test.each(
  runtimes.flatMap((runtime) => (isLong ? ['/work', '/readyz'] : ['/work']).map((path) => [runtime, path] as const)),
)(
  'on %s a new connection is served while others request %s endlessly',
  async (runtime, path) => {
    const server = await startScript(runtime, ['scripts/new-connections/server.ts'])
    const measured = await measureNewConnections(server.port, clients, seconds, path)
    await server.stop()
    if (process.env.CONNECTION_CLIENTS) console.log(runtime, path, measured)
    const { probes, p50, p99 } = measured

    expect(probes).toBeGreaterThan(isLong ? 5 : 1)
    expect(p50).toBeLessThan(500)
    expect(p99).toBeLessThan(2_000)
  },
)
