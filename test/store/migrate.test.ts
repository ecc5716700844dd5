/** Migrations. See docs/operations.md, "Migrations". */
import { type Client, createClient } from '@libsql/client'
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import * as schema from '../../db/schema.ts'
import { migrationsModule } from '../../scripts/migrations.ts'
import { migrate } from '../../src/store/migrate.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

const tables = Object.values(schema).filter((table) => is(table, SQLiteTable))
const steps = migrations.length

test('db/migrations.ts is generated from the SQL files', () => {
  expect(readFileSync('db/migrations.ts', 'utf8')).toBe(migrationsModule())
})

test('drizzle-kit finds nothing to add to the SQL files', () => {
  cpSync('db/migrations', folder, { recursive: true })
  const before = readdirSync(folder)

  const kit = spawnSync(process.execPath, [
    ...['node_modules/drizzle-kit/bin.cjs', 'generate', '--dialect', 'turso', '--schema', 'db/schema.ts'],
    ...['--out', relative('.', folder)],
  ], { encoding: 'utf8' })

  expect(kit.stdout).toContain('No schema changes')
  expect(readdirSync(folder)).toEqual(before)
})

test('the activity log is append-only', async () => {
  const client = createClient({ url: `file:${join(folder, 'grid.db')}`, concurrency: 1 })
  await migrate(client)
  const columns = Object.values(getTableColumns(schema.activity)).map(({ name }) => name)
  await client.migrate([`INSERT INTO activity (${columns}) VALUES (${columns.map((_, i) => i)})`])

  for (const change of ["UPDATE activity SET tool = 'other'", 'DELETE FROM activity']) {
    await expect(client.execute(change)).rejects.toThrow('the activity log is append-only')
  }
  client.close()
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

  test('an empty database becomes the schema: every table, column, key and index', async () => {
    const applied = await migrate(client)

    expect(applied).toEqual(migrations.map(({ name }) => name))
    const expected = [...tables.map((table) => getTableName(table)), 'agent_search']
    expect((await migratedTables(client)).sort()).toEqual(expected.sort())
    for (const table of tables) {
      expect(await shapeInDatabase(client, getTableName(table))).toEqual(shapeInSchema(table))
    }
  })

  test('a database that is up to date is not changed', async () => {
    await migrate(client)
    const before = await schemaText(client)

    expect(await migrate(client)).toEqual([])
    expect(await schemaText(client)).toEqual(before)
    expect((await client.execute('PRAGMA user_version')).rows[0].user_version).toBe(steps)
  })

  test('the migration to leases keeps messages that were in flight, and what was logged of them', async () => {
    await migrate(client, migrations.slice(0, 6))
    await client.migrate([
      "INSERT INTO accounts (id, name, state, created_at) VALUES ('a', 'Acme', 'claimed', 1)",
      `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at)
        VALUES ('a', 'alice', 'alice', 'mcp', 'private', 'auto_approve', 1)`,
      `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at)
        VALUES ('a', 'm', 'alice', 'alice', 'agent', '@alice', 'hi', 1)`,
      `INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, read_at,
        batch_id, returned) VALUES ('a', 'alice', 'a', 'm', 'read', 2, 1, 3, 'lease', 1)`,
      "INSERT INTO open_reads (account_id, agent_id, batch_id, instance_id, created_at) VALUES ('a', 'alice', 'lease', 'p', 3)",
      `INSERT INTO given_back (account_id, agent_id, sender_account_id, message_id, n, read_at, returned_at)
        VALUES ('a', 'alice', 'a', 'm', 1, 1, 2)`,
    ])

    await migrate(client)

    const read = async (sql: string) => (await client.execute(sql)).rows.map((row) => ({ ...row }))
    expect(await read('SELECT id, holder, expires_at FROM leases')).toEqual([
      { id: 'lease', holder: 'p', expires_at: null },
    ])
    expect(await read('SELECT lease_id, release_count FROM deliveries')).toEqual([{
      lease_id: 'lease',
      release_count: 1,
    }])
    expect(await read('SELECT leased_at, released_at FROM lease_releases')).toEqual([{ leased_at: 1, released_at: 2 }])
    await client.execute("UPDATE deliveries SET state = 'unread', lease_id = NULL, release_count = 2")
    expect(await read('SELECT agent_id FROM wake_signals')).toEqual([{ agent_id: 'alice' }])
  })

  test('the migration of fetched keys finds their grants, and ends keys whose grant has ended', async () => {
    await migrate(client, migrations.slice(0, migrations.findIndex(({ name }) => name.endsWith('_fetched_keys'))))
    const key = (id: string, user: string | null, at: number) =>
      `INSERT INTO credentials (account_id, id, kind, agent_id, user_id, hash, last4, created_at)
        VALUES ('a', '${id}', 'agent_key', 'alice', ${user ? `'${user}'` : 'NULL'}, '${id}', 'abcd', ${at})`
    const grant = (id: string, user: string) =>
      `INSERT INTO oauth_grants (account_id, id, user_id, client_id, client_name, agent_id, scope, resource, redirect_uri,
        code_hash, code_challenge, code_expires_at, created_at, expires_at)
        VALUES ('a', '${id}', '${user}', 'c', 'Client ${id}', 'alice', 'agent:use', '', '', '${id}', '', 1, 1, 99)`
    const fetched = (n: number, grant: string, at: number) =>
      `INSERT INTO activity (account_id, n, id, created_at, actor_type, credential_id, tool, arguments, outcome,
        previous_hash, hash) VALUES ('a', ${n}, '${n}', ${at}, 'agent', '${grant}', 'fetch_agent_key', '{}', 'ok', '', '')`
    await client.migrate([
      "INSERT INTO accounts (id, name, state, created_at) VALUES ('a', 'Acme', 'claimed', 1)",
      ...['ann', 'bob'].map((user) =>
        `INSERT INTO users (id, email, created_at) VALUES ('${user}', '${user}@acme.example', 1)`
      ),
      `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at)
        VALUES ('a', 'alice', 'alice', 'mcp', 'private', 'auto_approve', 1)`,
      ...['one', 'two', 'three'].map((id) => grant(id, 'ann')),
      ...[fetched(1, 'one', 5), fetched(2, 'two', 11), fetched(3, 'three', 12)],
      ...[key('of-two', 'ann', 10), key('of-none', 'bob', 10), key('made', null, 10)],
    ])

    await migrate(client)

    const { rows } = await client.execute(
      'SELECT id, grant_id, name, revoked_at > 0 AS ended FROM credentials ORDER BY id',
    )
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { id: 'made', grant_id: null, name: '', ended: null },
      { id: 'of-none', grant_id: null, name: '', ended: 1 },
      { id: 'of-two', grant_id: 'two', name: 'Client two', ended: null },
    ])
  })

  test('the migration of the right to answer finds who was written to from other accounts', async () => {
    await migrate(client, migrations.slice(0, migrations.findIndex(({ name }) => name.endsWith('_right_to_answer'))))
    await client.migrate([
      "INSERT INTO accounts (id, name, state, created_at) VALUES ('a', 'A', 'claimed', 1), ('b', 'B', 'claimed', 1)",
      `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at)
        SELECT id, 'agent-' || id, id, 'mcp', 'public', 'auto_approve', 1 FROM accounts`,
      `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at)
        SELECT account_id, 'm-' || account_id, id, alias, 'agent', '@a', 'hi', 1 FROM agents`,
      `INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at)
        SELECT 'a', 'agent-a', account_id, id, 'read', 2, 1 FROM messages`,
    ])

    await migrate(client)

    const { rows } = await client.execute('SELECT message_id, stranger_id FROM deliveries ORDER BY message_id')
    expect(rows).toMatchObject([{ stranger_id: null }, { stranger_id: 'agent-b' }])
  })

  test('foreign keys are enforced after a migration', async () => {
    await migrate(client)

    await expect(client.execute("INSERT INTO trials (account_id, agent_id, max, expires_at) VALUES ('a', 'b', 1, 1)"))
      .rejects.toMatchObject({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) })
  })

  test('a row that references a missing row stops a start that migrated', async () => {
    await migrate(client)
    await client.migrate(["INSERT INTO trials (account_id, agent_id, max, expires_at) VALUES ('a', 'b', 1, 1)"])

    await expect(migrate(client, [...migrations, step('CREATE TABLE later (id text)')])).rejects.toThrow(
      'The database has 1 rows that point nowhere. Restore a backup.',
    )
  })

  test('a newer database is refused', async () => {
    await migrate(client, [...migrations, step('CREATE TABLE later (id text)')])

    await expect(migrate(client)).rejects.toThrow(
      `The database has schema ${
        steps + 1
      }, this program knows ${steps}. Start a newer agent-grid, or restore a backup.`,
    )
  })

  test('a database that a newer process migrates during the start is refused', async () => {
    await migrate(client)
    const racing = {
      execute: async (sql: string) => {
        if (sql.startsWith('SELECT hash')) {
          await client.execute(
            "INSERT INTO __drizzle_migrations (id, hash, created_at) VALUES (99, 'x', 9999999999999)",
          )
        }
        return await client.execute(sql)
      },
    } as Client

    await expect(migrate(racing)).rejects.toMatchObject({ code: 'schema_newer' })
  })

  test('a migration that was edited after it was applied is refused', async () => {
    await migrate(client)
    const edited = migrations.map((step, i) => i === 1 ? { ...step, hash: 'another' } : step)

    await expect(migrate(client, edited, 'The database grid.db')).rejects.toThrow(
      'The database grid.db was migrated with another version of step 0001_activity_is_append_only than this program has.',
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
  return { name: 'later', hash: 'later', createdAt: 1, statements }
}

async function migratedTables(client: Client): Promise<string[]> {
  const { rows } = await client.execute(
    // The search index has tables of its own behind it.
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
      AND name NOT LIKE '\\_\\_%' ESCAPE '\\' AND name NOT LIKE 'libsql_%' AND name NOT LIKE 'agent_search\\_%' ESCAPE '\\'`,
  )
  return rows.map(({ name }) => String(name))
}

async function schemaText(client: Client): Promise<unknown[]> {
  return (await client.execute('SELECT name, sql FROM sqlite_master ORDER BY name')).rows.map((row) => ({ ...row }))
}

async function dropAll(client: Client): Promise<void> {
  const names = [...await migratedTables(client), '__drizzle_migrations']
  await client.migrate([...names.map((name) => `DROP TABLE IF EXISTS "${name}"`), 'PRAGMA user_version = 0'])
}

/** A table according to SQLite. */
async function shapeInDatabase(client: Client, table: string) {
  const query = async (sql: string) => (await client.execute(sql)).rows
  const columns = await query(`PRAGMA table_info("${table}")`)
  const foreign = await query(`PRAGMA foreign_key_list("${table}")`)
  const indexes = await query(`PRAGMA index_list("${table}")`)
  const indexed = async (index: string) =>
    (await query(`PRAGMA index_info("${index}")`)).map(({ name }) => String(name))
  return {
    columns: columns.map(({ name, type, notnull }) => `${name} ${String(type).toLowerCase()} ${notnull}`),
    primaryKey: columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a.pk) - Number(b.pk))
      .map(({ name }) => String(name)),
    foreignKeys: [...new Set(foreign.map(({ id }) => id))].map((id) => {
      const parts = foreign.filter((row) => row.id === id).sort((a, b) => Number(a.seq) - Number(b.seq))
      return `${parts.map(({ from }) => from)} -> ${parts[0].table} ${parts.map(({ to }) => to)}`
    }).sort(),
    indexes: (await Promise.all(
      indexes.filter(({ origin }) => origin === 'c')
        .map(async ({ name, unique, partial }) => `${name} (${await indexed(String(name))}) ${unique} ${partial}`),
    )).sort(),
  }
}

/** A table according to `db/schema.ts`. */
function shapeInSchema(table: SQLiteTable) {
  const { columns, primaryKeys, foreignKeys, indexes } = getTableConfig(table)
  const own = Object.values(getTableColumns(table)).filter((column) => column.primary).map(({ name }) => name)
  return {
    columns: columns.map((column) => `${column.name} ${column.getSQLType()} ${column.notNull ? 1 : 0}`),
    primaryKey: primaryKeys.length > 0 ? primaryKeys[0].columns.map(({ name }) => name) : own,
    foreignKeys: foreignKeys.map((key) => {
      const { columns, foreignColumns, foreignTable } = key.reference()
      return `${columns.map(({ name }) => name)} -> ${getTableName(foreignTable)} ${
        foreignColumns.map(({ name }) => name)
      }`
    }).sort(),
    indexes: indexes.map(({ config: { name, columns, unique, where } }) =>
      `${name} (${columns.map((column) => 'name' in column ? column.name : '?')}) ${unique ? 1 : 0} ${where ? 1 : 0}`
    ).sort(),
  }
}
