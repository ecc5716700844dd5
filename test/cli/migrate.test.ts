/** `agent-grid migrate --check`. See docs/operations.md, "Migrations". */
import { createClient } from '@libsql/client'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import { pastDatabase } from '../../scripts/past-databases.ts'
import { runCommand, startServe, type TemporaryDatabase, temporaryDatabase } from '../support/process.ts'

const newest = migrations.length
let database: TemporaryDatabase
let path: string
beforeEach(() => {
  database = temporaryDatabase()
  path = join(database.folder, 'grid.db')
})
afterEach(() => database.remove())

test('--check names the missing steps and changes nothing, and migrate applies them', async () => {
  writeFileSync(path, pastDatabase(migrations[24].name))

  const text = await run('--check')
  const json = await run('--check', '--json')

  expect([text.code, text.stdout]).toEqual([
    3,
    `Schema  25
Newest  ${newest}

The next start, or "agent-grid migrate", applies:
${migrations.slice(25).map(({ name }) => `  ${name}\n`).join('')}
A copy of the file is kept beside it until a server has run for an hour.
`,
  ])
  const missing = migrations.slice(25).map(({ name }) => name)
  expect([json.code, JSON.parse(json.stdout)]).toEqual([3, {
    schema_version: 25,
    newest_version: newest,
    missing,
  }])
  expect(await version()).toBe(25)
  expect(readFileSync(path)[18]).toBe(1)
  expect(existsSync(`${path}.keys`)).toBe(false)
  expect(JSON.parse((await run('--json')).stdout)).toEqual({ applied: missing, schema_version: newest })
  expect(await run('--check')).toMatchObject({ code: 0, stdout: expect.stringContaining('The database is up to date') })
})

test('--check does not make a database', async () => {
  expect(await run('--check')).toMatchObject({ code: 3, stdout: expect.stringContaining('The database is empty') })
  expect(existsSync(path)).toBe(false)
})

test('--check asks a running server', async () => {
  const server = await startServe('bun', { DATABASE_URL: database.url })

  expect(await run('--check')).toMatchObject({ code: 0, stdout: expect.stringContaining('The database is up to date') })

  await server.stop()
})

test('--check fails as a start would', async () => {
  await run()
  const client = createClient({ url: database.url, concurrency: 1 })
  await client.execute("UPDATE __drizzle_migrations SET hash = 'x' WHERE id = 3")
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
