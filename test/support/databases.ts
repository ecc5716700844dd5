/** Runs the same tests on every kind of database: a local file, and a real libsql-server. */
import { type Client, createClient, type InStatement } from '@libsql/client'
import { afterAll, beforeAll, describe } from 'vitest'
import { type Cast, type TestGrid, testGrid, type TestGridOptions } from './grid.ts'
import { type Sqld, startSqld } from './sqld.ts'

export type OpenGrid = (options?: TestGridOptions) => Promise<TestGrid>

/** Defines tests once for each database. Each call of `open` returns a new grid. */
export function onEachDatabase(tests: (open: OpenGrid) => void): void {
  describe('on a local file', () => tests(testGrid))
  onLibsqlServer(tests)
}

/** Defines tests for libsql-server alone. */
export function onLibsqlServer(tests: (open: OpenGrid) => void): void {
  describe('on libsql-server', () => {
    let server: Sqld
    let initial: { rows: InStatement[]; cast: Cast }
    beforeAll(async () => {
      server = await startSqld({ isRelaxed: true })
      const { acme, evil, alice, bob, eve, ...grid } = await testGrid({ url: server.url })
      await grid.close()
      initial = { rows: await rowsOf(server.url), cast: { acme, evil, alice, bob, eve } }
    })
    afterAll(() => server.stop())

    tests(async (options) => {
      await reset(server.url, initial.rows)
      return testGrid({ ...options, url: server.url, cast: initial.cast })
    })
  })
}

/** Returns the statements that insert all rows of the database. */
async function rowsOf(url: string): Promise<InStatement[]> {
  const client = createClient({ url })
  const statements: InStatement[] = []
  for (const { type, name } of await schemaOf(client)) {
    if (type !== 'table') continue
    const { columns, rows } = await client.execute(`SELECT * FROM "${name}"`)
    const placeholders = columns.map(() => '?').join(', ')
    for (const row of rows) {
      statements.push({
        sql: `INSERT INTO "${name}" VALUES (${placeholders})`,
        args: columns.map((column) => row[column]),
      })
    }
  }
  client.close()
  return statements
}

/** Replaces all rows of the database. A new server per test would take a second. */
async function reset(url: string, rows: InStatement[]): Promise<void> {
  const client = createClient({ url })
  const schema = await schemaOf(client)
  // The triggers are dropped first, because some of them forbid deleting rows.
  const triggers = schema.filter(({ type }) => type === 'trigger')
  await client.migrate([
    ...triggers.map(({ name }) => `DROP TRIGGER "${name}"`),
    ...schema.filter(({ type }) => type === 'table').map(({ name }) => `DELETE FROM "${name}"`),
    ...rows.filter((row) => !isNumber(row)),
    ...triggers.map(({ sql }) => String(sql)),
    // The restored triggers write the search index, so the index is emptied and its own rows are inserted last.
    'DELETE FROM agent_search',
    'DELETE FROM message_search',
    ...rows.filter(isNumber),
  ])
  client.close()
}

const isNumber = (row: InStatement) => typeof row !== 'string' && row.sql.includes('"agent_numbers"')

async function schemaOf(client: Client) {
  const { rows } = await client.execute(
    `SELECT type, name, sql FROM sqlite_master
      WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE '%!_search%' ESCAPE '!' AND name <> '__drizzle_migrations'`,
  )
  return rows
}
