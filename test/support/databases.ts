/** Tests that hold on every database: a local file, and a real libsql-server. */
import { type Client, createClient, type InStatement } from '@libsql/client'
import { afterAll, beforeAll, describe } from 'vitest'
import { type Sqld, startSqld } from './sqld.ts'
import { type Cast, type TestGrid, testGrid, type TestGridOptions } from './grid.ts'

export type OpenGrid = (options?: TestGridOptions) => Promise<TestGrid>

/** Define the tests of `tests` once for each database. Each `open()` begins with an empty one. */
export function onEachDatabase(tests: (open: OpenGrid) => void): void {
  describe('on a local file', () => tests(testGrid))

  describe('on libsql-server', () => {
    let server: Sqld
    let beginning: { rows: InStatement[]; cast: Cast }
    beforeAll(async () => {
      server = await startSqld({ isRelaxed: true })
      const { acme, evil, alice, bob, eve, ...grid } = await testGrid({ url: server.url })
      await grid.close()
      beginning = { rows: await rowsOf(server.url), cast: { acme, evil, alice, bob, eve } }
    })
    afterAll(() => server.stop())

    tests(async (options) => {
      await begin(server.url, beginning.rows)
      return testGrid({ ...options, url: server.url, cast: beginning.cast })
    })
  })
}

/** Every row, as the statement that puts it there. */
async function rowsOf(url: string): Promise<InStatement[]> {
  const client = createClient({ url })
  const statements: InStatement[] = []
  for (const { type, name } of await schemaOf(client)) {
    if (type !== 'table') continue
    const { columns, rows } = await client.execute(`SELECT * FROM "${name}"`)
    const places = columns.map(() => '?').join(', ')
    for (const row of rows) {
      statements.push({ sql: `INSERT INTO "${name}" VALUES (${places})`, args: columns.map((column) => row[column]) })
    }
  }
  client.close()
  return statements
}

/** Keep the schema and go back to these rows: a server for each test would take a second. */
async function begin(url: string, rows: InStatement[]): Promise<void> {
  const client = createClient({ url })
  const schema = await schemaOf(client)
  // Some tables refuse to be emptied.
  const triggers = schema.filter(({ type }) => type === 'trigger')
  await client.migrate([
    ...triggers.map(({ name }) => `DROP TRIGGER "${name}"`),
    ...schema.filter(({ type }) => type === 'table').map(({ name }) => `DELETE FROM "${name}"`),
    ...rows,
    ...triggers.map(({ sql }) => String(sql)),
  ])
  client.close()
}

async function schemaOf(client: Client) {
  const { rows } = await client.execute(
    "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name <> '__drizzle_migrations'",
  )
  return rows
}
