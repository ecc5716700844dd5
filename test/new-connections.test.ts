/** The short form of `npm run new-connections` (docs/operations.md, "New connections under load"). */
import { afterAll, expect, test, vi } from 'vitest'
import { cleanUp, runtimes, startScript } from '../scripts/bench/server.ts'
import { measureNewConnections } from '../scripts/new-connections/measure.ts'
import { isLong } from './support/long.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

// The server of Node as it is takes 3 to 5 seconds here, and serves only some of the clients.
// Both requests take a millisecond.
test.each(
  runtimes.flatMap((runtime) => (isLong ? ['/work', '/readyz'] : ['/work']).map((path) => [runtime, path] as const)),
)(
  'a new connection to %s is served while 200 others ask for %s without end',
  async (runtime, path) => {
    const server = await startScript(runtime, ['scripts/new-connections/server.ts', 'listen'])
    const { probes, p50, p99 } = await measureNewConnections(server.port, 200, isLong ? 5 : 1, path)
    await server.stop()

    expect(probes).toBeGreaterThan(isLong ? 5 : 1)
    expect(p50).toBeLessThan(500)
    expect(p99).toBeLessThan(2_000)
  },
)
