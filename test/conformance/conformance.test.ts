/** The official MCP conformance suite against a running grid, with both kinds of tokens. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { type AuthProxy, startAuthProxy } from '../support/auth-proxy.ts'
import { gridPath } from '../support/mcp.ts'
import { runScript } from '../support/process.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

const suite = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'

interface Subject {
  /** The URL of the proxy that adds the token. */
  url: string
  grid: LiveGrid
  proxy: AuthProxy
}

const subjects = {} as Record<'agent' | 'admin', Subject>
beforeAll(async () => {
  subjects.agent = await startSubject((grid) => grid.alice.key)
  subjects.admin = await startSubject((grid) => grid.acme.adminKey)
})
afterAll(() =>
  Promise.all(
    Object.values(subjects).map(async ({ grid, proxy }) => {
      await proxy.stop()
      await grid.close()
    }),
  )
)

test.each(
  [
    ['agent', '2026-07-28', '2026-agent.yml'],
    ['agent', '2025-11-25', '2025-agent.yml'],
    ['admin', '2026-07-28', '2026-admin.yml'],
    ['admin', '2025-11-25', '2025-admin.yml'],
  ] as const,
)(
  'with the %s token, the grid passes the %s requirements of the MCP conformance suite, except the failures in %s',
  async (...row) => {
    const [caller, revision, baseline] = row
    const expected = ['--requirements', revision, '--expected-failures', `test/conformance/${baseline}`]

    const { code, stdout, stderr } = await runSuite(subjects[caller], expected)

    expect(stdout.split('SUMMARY').at(-1) + stderr).toContain('Baseline check passed')
    expect(code).toBe(0)
  },
)

test.each(['agent', 'admin'] as const)(
  'with the %s token, the grid passes all 14 header checks of MCP 2026-07-28',
  async (caller) => {
    const scenario = ['--scenario', 'http-header-validation', '--spec-version', '2026-07-28']

    const { code, stdout } = await runSuite(subjects[caller], scenario)

    expect(stdout).toContain('Passed: 14/14, 0 failed, 0 warnings')
    expect(code).toBe(0)
  },
)

/** Starts a grid and a proxy. The suite cannot send a token, and its DNS rebinding scenario needs `localhost`. */
async function startSubject(tokenOf: (grid: LiveGrid) => string): Promise<Subject> {
  const port = await freePort()
  const address = `http://localhost:${port}`
  const grid = await liveGrid({ env: { BASE_URL: address } })
  const proxy = await startAuthProxy(port, grid.url, tokenOf(grid))
  return { url: `${address}${gridPath}`, grid, proxy }
}

/** Runs the suite on Bun, because the suite needs a newer Node version than the grid does. */
function runSuite({ url }: Subject, options: string[]) {
  return runScript('bun', suite, ['server', '--url', url, ...options])
}
