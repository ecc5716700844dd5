/** The short form of `npm run new-connections` (docs/operations.md, "New connections under load"). */
import { afterAll, expect, test, vi } from 'vitest'
import { cleanUp, runtimes, startScript } from '../scripts/bench/server.ts'
import { measureNewConnections } from '../scripts/new-connections/measure.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

// The server of Node as it is takes 3 to 5 seconds here, and serves only some of the clients.
test.each(runtimes)('a new connection is served while 200 others keep the server busy: %s', async (runtime) => {
  const server = await startScript(runtime, ['scripts/new-connections/server.ts', 'listen'])
  const { probes, p50, p99 } = await measureNewConnections(server.port, 200, 5)
  await server.stop()

  expect(probes).toBeGreaterThan(5)
  expect(p50).toBeLessThan(500)
  expect(p99).toBeLessThan(2_000)
})

// A millisecond each, as the requests of the other test.
test.each(runtimes)('a new connection is served while 200 others ask for /readyz without end: %s', async (runtime) => {
  const server = await startScript(runtime, ['scripts/new-connections/server.ts', 'listen'])
  const { probes, p50, p99 } = await measureNewConnections(server.port, 200, 5, '/readyz')
  await server.stop()

  expect(probes).toBeGreaterThan(5)
  expect(p50).toBeLessThan(500)
  expect(p99).toBeLessThan(2_000)
})
