/** Tests that hold on every database: a local file, and a real libsql-server. */
import { createClient } from '@libsql/client'
import { afterAll, beforeAll, describe } from 'vitest'
import { type Sqld, startSqld } from './sqld.ts'
import { type TestGrid, testGrid, type TestGridOptions } from './grid.ts'

export type OpenGrid = (options?: TestGridOptions) => Promise<TestGrid>

/** Define the tests of `tests` once for each database. Each `open()` begins with an empty one. */
export function onEachDatabase(tests: (open: OpenGrid) => void): void {
  describe('on a local file', () => tests(testGrid))

  describe('on libsql-server', () => {
    let server: Sqld
    beforeAll(async () => {
      server = await startSqld()
    })
    afterAll(() => server.stop())

    tests(async (options) => {
      await empty(server.url)
      return testGrid({ ...options, url: server.url })
    })
  })
}

/** Forget every row and keep the schema: a server for each test would take a second. */
async function empty(url: string): Promise<void> {
  const client = createClient({ url })
  const { rows } = await client.execute(
    "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name <> '__drizzle_migrations'",
  )
  const tables = rows.filter(({ type }) => type === 'table')
  // Some tables refuse to be emptied.
  const triggers = rows.filter(({ type }) => type === 'trigger')
  await client.migrate([
    ...triggers.map(({ name }) => `DROP TRIGGER "${name}"`),
    ...tables.map(({ name }) => `DELETE FROM "${name}"`),
    ...triggers.map(({ sql }) => String(sql)),
  ])
  client.close()
}
