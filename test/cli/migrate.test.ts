/** `agent-grid migrate --check`. See docs/operating/upgrades.md, "Upgrades". */
import { createClient } from '@libsql/client'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { migrations } from '../../db/migrations.ts'
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

test('migrate --check lists the missing steps and changes nothing, and migrate applies them', async () => {
  await run()
  const schema = migrations.length
  const missing = [addStep('CREATE TABLE later (id text)'), addStep('DROP TABLE later')]
  vi.stubEnv('DATABASE_URL', database.url)
  vi.stubEnv('BASE_URL', undefined)
  vi.stubEnv('LOG_LEVEL', 'error')
  const printed = vi.spyOn(console, 'log').mockReturnValue()

  const codes = [await migrate.start(false, { check: '' }, []), await migrate.start(true, { check: '' }, [])]

  const [[text], [json]] = printed.mock.calls
  expect([codes, text, JSON.parse(json)]).toEqual([
    [3, 3],
    `Schema  ${schema}
Newest  ${schema + 2}

The next start, or "agent-grid migrate", applies:
  ${missing.join('\n  ')}

A copy of the file is kept next to it until a server has run for a day.`,
    { schema_version: schema, newest_version: schema + 2, missing },
  ])
  expect(await version()).toBe(schema)
  await migrate.start(true, {}, [])
  expect(JSON.parse(printed.mock.lastCall![0])).toEqual({
    applied: missing,
    schema_version: schema + 2,
    copy: `${path}.schema-${schema}`,
  })

  const last = addStep('CREATE TABLE last (id text)')
  await migrate.start(true, { 'no-backup': 'yes' }, [])
  expect(JSON.parse(printed.mock.lastCall![0])).toEqual({ applied: [last], schema_version: schema + 3, copy: null })
})

test('migrate --check never creates a database', async () => {
  expect(await run('--check')).toMatchObject({ code: 3, stdout: expect.stringContaining('The database is empty') })
  expect(existsSync(path)).toBe(false)
})

test('while a server runs, migrate applies nothing, and migrate --check asks that server', async () => {
  const server = await startServe('bun', { DATABASE_URL: database.url })

  expect(await run()).toMatchObject({ code: 0, stdout: 'Schema   1\nApplied  nothing, because it was up to date\n' })
  expect(await run('--check')).toMatchObject({ code: 0, stdout: expect.stringContaining('The database is up to date') })

  await server.stop()
})

test('migrate --check fails whenever a start would fail', async () => {
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
