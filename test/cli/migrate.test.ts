/** `agent-grid migrate --check`. See docs/operating/upgrades.md, "Upgrades". */
import { createClient } from '@libsql/client'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { migrate } from '../../src/cli/migrate.ts'
import { addStep } from '../support/later-step.ts'
import { runCommand, startServe } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'

const database = useDatabase()
let path: string
beforeEach(() => {
  path = join(database.folder, 'grid.db')
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test('--check names the missing steps and changes nothing, and migrate applies them', async () => {
  await run()
  const missing = [addStep('CREATE TABLE later (id text)'), addStep('DROP TABLE later')]
  vi.stubEnv('DATABASE_URL', database.url)
  vi.stubEnv('BASE_URL', undefined)
  vi.stubEnv('LOG_LEVEL', 'error')
  const printed = vi.spyOn(console, 'log').mockReturnValue()

  const codes = [await migrate.start(false, { check: '' }, []), await migrate.start(true, { check: '' }, [])]

  const [[text], [json]] = printed.mock.calls
  expect([codes, text, JSON.parse(json)]).toEqual([
    [3, 3],
    `Schema  1
Newest  3

The next start, or "agent-grid migrate", applies:
  0001_later
  0002_later

A copy of the file is kept next to it until a server has run for an hour.`,
    { schema_version: 1, newest_version: 3, missing },
  ])
  expect(await version()).toBe(1)
  await migrate.start(true, {}, [])
  expect(JSON.parse(printed.mock.lastCall![0])).toEqual({ applied: missing, schema_version: 3 })
})

test('--check does not make a database', async () => {
  expect(await run('--check')).toMatchObject({ code: 3, stdout: expect.stringContaining('The database is empty') })
  expect(existsSync(path)).toBe(false)
})

test('beside a running server nothing is applied, and --check asks that server', async () => {
  const server = await startServe('bun', { DATABASE_URL: database.url })

  expect(await run()).toMatchObject({ code: 0, stdout: 'Schema   1\nApplied  nothing; it was up to date\n' })
  expect(await run('--check')).toMatchObject({ code: 0, stdout: expect.stringContaining('The database is up to date') })

  await server.stop()
})

test('--check fails as a start would', async () => {
  await run()
  const client = createClient({ url: database.url, concurrency: 1 })
  await client.execute("UPDATE __drizzle_migrations SET hash = 'x'")
  client.close()

  const { code, stdout } = await run('--check', '--json')

  expect([code, JSON.parse(stdout).error.code]).toEqual([1, 'migration_changed'])
})

function run(...options: string[]) {
  return runCommand('bun', ['migrate', ...options], { DATABASE_URL: database.url })
}

async function version(): Promise<unknown> {
  const client = createClient({ url: database.url, concurrency: 1 })
  const { rows: [{ user_version }] } = await client.execute('PRAGMA user_version')
  client.close()
  return user_version
}
