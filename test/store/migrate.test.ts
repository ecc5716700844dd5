/** Migrations. */
import { type Client, createClient } from '@libsql/client'
import { getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import * as schema from '../../db/schema.ts'
import { makeBaseline, makeDerivedTables } from '../../scripts/migrations.ts'
import { migrate } from '../../src/store/migrate.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

const tables = Object.values(schema).filter((table) => is(table, SQLiteTable))

test('the baseline is that of the schema', () => {
  expect(makeBaseline()).toBe(readFileSync('db/migrations.ts', 'utf8'))
  expect(makeDerivedTables()).toBe(readFileSync('db/derived-tables.ts', 'utf8'))
})

let folder: string
let server: Sqld
beforeAll(async () => {
  server = await startSqld()
})
afterAll(() => server.stop())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-migrate-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.each([
  ['a local file', () => `file:${join(folder, 'grid.db')}`],
  ['libsql-server', () => server.url],
])('on %s', (_, url) => {
  let client: Client
  beforeEach(async () => {
    client = createClient({ url: url(), concurrency: 1 })
    await dropAll(client)
  })
  afterEach(() => client.close())

  test('an empty database gets every table of the schema', async () => {
    const applied = await migrate(client)

    expect(applied).toEqual(migrations.map(({ name }) => name))
    const expected = [...tables.map((table) => getTableName(table)), 'agent_search', 'message_search']
    expect((await migratedTables(client)).sort()).toEqual(expected.sort())
  })

  test('foreign keys are enforced after a migration, and a row that points nowhere stops a start that migrated', async () => {
    const insert = "INSERT INTO trials (account_id, agent_id, max, expires_at) VALUES ('a', 'b', 1, 1)"
    await migrate(client)
    await expect(client.execute(insert)).rejects.toMatchObject({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) })
    await client.migrate([insert])

    await expect(migrate(client, [...migrations, step('CREATE TABLE later (id text)')])).rejects.toThrow(
      'The database has 1 rows that point nowhere. Restore a backup.',
    )
  })

  test('a step that fails leaves nothing behind and is tried again at the next start', async () => {
    const broken = [...migrations, step('CREATE TABLE later (id text)', 'INSERT INTO nowhere VALUES (1)')]

    await expect(migrate(client, broken)).rejects.toThrow('nowhere')
    expect(await migratedTables(client)).not.toContain('later')
    expect(await migrate(client, [...migrations, step('CREATE TABLE later (id text)')])).toEqual(['later'])
  })

  test('a step that breaks a constraint fails, and is not taken for another process', async () => {
    const broken = [
      ...migrations,
      step('CREATE TABLE later (id text PRIMARY KEY NOT NULL)', 'INSERT INTO later VALUES (NULL)'),
    ]

    await expect(migrate(client, broken)).rejects.toMatchObject({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) })
  })
})

test('processes that start together on one server apply each step once', async () => {
  const clients = Array.from({ length: 4 }, () => createClient({ url: server.url, concurrency: 1 }))
  await dropAll(clients[0])

  const applied = await Promise.all(clients.map((client) => migrate(client)))

  expect(applied.flat().sort()).toEqual(migrations.map(({ name }) => name))
  expect((await clients[0].execute('SELECT id FROM __drizzle_migrations ORDER BY id')).rows.map(({ id }) => Number(id)))
    .toEqual(migrations.map((_, i) => i + 1))
  for (const client of clients) client.close()
})

function step(...statements: string[]) {
  return { name: 'later', hash: 'later', statements }
}

async function migratedTables(client: Client): Promise<string[]> {
  const { rows } = await client.execute(
    // The search indexes have tables of their own behind them.
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
      AND name NOT LIKE '\\_\\_%' ESCAPE '\\' AND name NOT LIKE 'libsql_%' AND name NOT LIKE '%\\_search\\_%' ESCAPE '\\'`,
  )
  return rows.map(({ name }) => String(name))
}

async function dropAll(client: Client): Promise<void> {
  const names = [...await migratedTables(client), '__drizzle_migrations']
  await client.migrate([
    ...['awaited_answers', 'v_deliveries'].map((name) => `DROP VIEW IF EXISTS ${name}`),
    ...names.map((name) => `DROP TABLE IF EXISTS "${name}"`),
    'PRAGMA user_version = 0',
  ])
}
