/** `agent-grid doctor` for a running grid. See docs/operating/monitoring.md, "Doctor". */
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { serveCommands } from '../../src/cli/command-server.ts'
import { type DoctorReport, examine } from '../../src/cli/doctor.ts'
import { checkDurability } from '../../src/cli/doctor/files.ts'
import { checkKeyRing } from '../../src/cli/doctor/database.ts'
import { checkServer } from '../../src/cli/doctor/server.ts'
import { processDeps } from '../../src/cli/process.ts'
import { storeCommands } from '../../src/cli/store-commands.ts'
import { readConfig } from '../../src/config.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { fullVersion } from '../../src/lib/version.ts'
import { openStore } from '../../src/store/store.ts'
import { someRuntimes } from '../support/long.ts'
import { runCommand, startServe } from '../support/process.ts'
import { startSqld } from '../support/sqld.ts'
import { waitFor } from '../support/wait-for.ts'
import { checksOfMachine, type WellGrid, wellGrid } from '../support/well-grid.ts'

let grid: WellGrid
let env: Record<string, string>

beforeEach(async () => {
  grid = await wellGrid()
  ;({ env } = grid)
})
afterEach(() => grid.remove())

test.each(someRuntimes)('on %s, the doctor finds a running grid healthy, and does not disturb it', async (runtime) => {
  const server = await startServe(runtime, env)

  const { stdout } = await runCommand(runtime, ['doctor', '--json'], env)
  const { checks } = JSON.parse(stdout) as DoctorReport

  expect(checks.filter(({ check, status }) => status !== 'ok' && !checksOfMachine.includes(check))).toEqual([])
  expect(checks).toContainEqual(
    expect.objectContaining({ check: 'server', found: expect.stringContaining('is ready') }),
  )
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  await server.stop()
})

test("a running server checks its own settings, not those in the doctor's shell", async () => {
  const folder = join(grid.folder, 'backups')
  const server = await startServe('node', {
    ...env,
    BASE_URL: `http://grid.example:${env.PORT}`,
    TRUSTED_PROXY: '10.0.0.1',
    // The path is relative to the server's folder, not to the doctor's.
    BACKUP_DIR: relative('.', folder),
    BACKUP_PLAIN: '1',
    DURABILITY: 'relaxed',
  })
  await waitFor('a backup', () => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.backup')))

  // The doctor runs as root would run it: with the database's path, in a shell with other settings.
  const { checks } = await examine({ DATABASE_URL: env.DATABASE_URL, EMAIL_FROM: 'x', DURABLITY: 'full' }, false)
  await server.stop()

  const found = (check: string) => checks.filter((found) => found.check === check).map(({ found }) => found)
  expect(found('settings')).toEqual(['TRUSTED_PROXY is not a setting. Did you mean TRUSTED_PROXIES?'])
  expect(found('addresses')).toEqual([expect.stringContaining('cross the network unencrypted')])
  expect(found('durability')).toEqual([expect.stringContaining('DURABILITY is relaxed')])
  expect(found('email')).toEqual(['No email server is set, so links for people are only in the log.'])
  expect(found('backups')).toEqual([expect.stringMatching(/^The newest backup is .*, 0 hours old\.$/)])
  expect(found('server')).toEqual([`The grid is ready on port ${env.PORT}.`])
  expect(found('key_ring')).toEqual(['The key ring has the keys of all stored tokens.'])
})

test('the doctor says to restart a server whose key ring or pragmas differ from the settings', async () => {
  const store = await openStore(processDeps(readConfig({ ...env, DURABILITY: 'relaxed' })))
  const { writeMode, ...health } = await store.health()
  const config = readConfig(env)

  expect(await checkKeyRing(config, health, ['old'])).toMatchObject({
    ...{ status: 'warning', action: 'Restart the grid.' },
  })
  expect(checkDurability(config, grid.path, { writeMode })).toMatchObject({
    ...{ status: 'broken', found: expect.stringContaining('synchronous 1') },
  })
  await store.close()
})

test('the doctor says to stop a program that holds the database but accepts no commands', async () => {
  const store = await openStore(processDeps(readConfig(env)))

  const { checks } = await examine(env, false)

  expect(checks).toContainEqual({
    check: 'database',
    status: 'broken',
    found: expect.stringMatching(/is in use by another process \(process \d+ .+\)\. It does not accept commands\.$/),
    action: expect.stringContaining('If it is not a server of this grid, stop it.'),
  })
  await store.close()
})

test('the doctor says to restart a server of a different build of the same version', async () => {
  const server = { build: `${fullVersion} (0123456789ab)` }

  expect(await checkServer(readConfig(env), server)).toMatchObject({ status: 'warning', action: 'Restart the grid.' })
})

test("the doctor says to restart a server that does not know the doctor's command", async () => {
  const store = await openStore(processDeps(readConfig(env)))
  const listener = await serveCommands(store, storeCommands)

  const { checks } = await examine(env, false)

  expect(checks).toContainEqual(expect.objectContaining({
    ...{ check: 'server', status: 'warning', action: expect.stringContaining('Restart the grid') },
  }))
  await listener.stop(1_000)
  await store.close()
})

test('the doctor checks a grid on libsql-server through its connection, without checks of files', async () => {
  const server = await startSqld()
  env = { DATABASE_URL: server.url, PORT: env.PORT, GRID_KEYS: newKeyRing() }
  const empty = await examine(env, false)
  await (await openStore(processDeps(readConfig({ ...env, LOG_LEVEL: 'error' })))).close()

  const { status, checks } = await examine(env, true)

  expect(empty.checks).toContainEqual(expect.objectContaining({ check: 'database', status: 'warning' }))
  expect(status).toBe('well')
  expect(checks.filter(({ status }) => status !== 'ok').map(({ check, status }) => [check, status])).toEqual([
    ['durability', 'skipped'],
  ])
  await server.stop()
})
