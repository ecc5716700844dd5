/** `agent-grid doctor` of a grid that runs. See docs/operations.md, "Doctor". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { serveCommands } from '../../src/cli/command-server.ts'
import { examine } from '../../src/cli/doctor.ts'
import { doctorReport } from '../../src/cli/doctor/report.ts'
import { processDeps } from '../../src/cli/process.ts'
import { storeCommands } from '../../src/cli/store-commands.ts'
import { readConfig } from '../../src/config.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { openStore } from '../../src/store/store.ts'
import { runCommand, runtimes, startServe } from '../support/process.ts'
import { startSqld } from '../support/sqld.ts'
import { checksOfMachine, type WellGrid, wellGrid } from '../support/well-grid.ts'

let grid: WellGrid
let env: Record<string, string>

beforeEach(async () => {
  grid = await wellGrid()
  ;({ env } = grid)
})
afterEach(() => grid.remove())

test.each(runtimes)(
  'a grid that runs on %s is asked, says what its proxies send, and is not disturbed',
  async (runtime) => {
    const port = env.PORT
    const server = await startServe(runtime, { ...env, PORT: port })
    const run = async () => {
      const { code, stdout } = await runCommand(runtime, ['doctor', '--json'], env)
      return { code, report: doctorReport.parse(JSON.parse(stdout)) }
    }
    const well = await run()
    await fetch(`${server.url}/sign-in`, { headers: { 'X-Forwarded-For': '203.0.113.9', Host: `localhost:${port}` } })
    const behindProxy = await run()

    const bad = ({ report: { checks } }: typeof well) =>
      checks.filter(({ check, status }) => status !== 'ok' && !checksOfMachine.includes(check))
    expect(bad(well)).toEqual([])
    expect(well.report.checks).toContainEqual(
      expect.objectContaining({ check: 'server', found: expect.stringContaining('is ready') }),
    )
    expect(bad(behindProxy)).toEqual([{
      check: 'proxies',
      status: 'warning',
      found: 'A proxy at 127.0.0.1 is not trusted, so its clients share one limit: 1 request.',
      action: 'Set TRUSTED_PROXIES=127.0.0.1 if the proxy is yours.',
    }])
    expect(behindProxy.code).toBe(3)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    await server.stop()
  },
)

test('a file that is held by a program that takes no commands: that program is to be ended', async () => {
  const store = await openStore(processDeps(readConfig(env)))

  const { checks } = await examine(env, false)

  expect(checks).toContainEqual({
    check: 'database',
    status: 'broken',
    found: expect.stringMatching(/is in use by another process \(process \d+ .+\)\. It answers no commands\.$/),
    action: expect.stringContaining('If it is no server of this grid, end it.'),
  })
  await store.close()
})

test('a server that does not know the doctor is to be restarted', async () => {
  const store = await openStore(processDeps(readConfig(env)))
  const listener = await serveCommands(store, storeCommands)

  const { checks } = await examine(env, false)

  expect(checks).toContainEqual(expect.objectContaining({
    ...{ check: 'version', status: 'warning', action: expect.stringContaining('Restart the grid') },
  }))
  await listener.stop(1_000)
  await store.close()
})

test('a grid on libsql-server is looked at over its connection, without what only files can tell', async () => {
  const server = await startSqld()
  env = { DATABASE_URL: server.url, PORT: env.PORT, GRID_KEYS: newKeyRing() }
  const empty = await examine(env, false)
  await (await openStore(processDeps(readConfig({ ...env, LOG_LEVEL: 'error' })))).close()

  const { status, checks } = await examine(env, true)

  expect(empty.checks).toContainEqual(expect.objectContaining({ check: 'migrations', status: 'warning' }))
  expect(status).toBe('well')
  expect(checks.filter(({ status }) => status !== 'ok').map(({ check, status }) => [check, status])).toEqual([
    ['durability', 'skipped'],
    ['integrity', 'skipped'],
    ['proxies', 'skipped'],
  ])
  await server.stop()
})
