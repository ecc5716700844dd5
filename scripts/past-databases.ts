/**
 * `npm run past-databases`: writes a small filled database of each schema that has none yet into `folder`. They are kept
 * as they are, so that tests can migrate what older versions left behind. See docs/operations.md, "Migrations".
 */
import { type Client, createClient } from '@libsql/client'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { migrations } from '../db/migrations.ts'
import { migrate } from '../src/store/migrate.ts'
import { placed, type Row, story } from './past-databases/story.ts'

const folder = 'test/store/past-databases'

/** What tables and columns were called before a step, by the names of today. */
const renamed: { before: string; table: string; was?: string; columns?: Record<string, string> }[] = [
  { before: '0006_leases', table: 'leases', was: 'open_reads', columns: { id: 'batch_id', holder: 'instance_id' } },
  {
    before: '0006_leases',
    table: 'lease_releases',
    was: 'given_back',
    columns: { leased_at: 'read_at', released_at: 'returned_at' },
  },
  { before: '0006_leases', table: 'wake_signals', was: 'wake_calls' },
  { before: '0006_leases', table: 'deliveries', columns: { lease_id: 'batch_id', release_count: 'returned' } },
  { before: '0006_leases', table: 'instances', columns: { heartbeats: 'beats' } },
  { before: '0006_leases', table: 'idempotency_keys', columns: { receipt: 'answer' } },
]

/** The database after the step of this name, as a file of SQLite. */
export function pastDatabase(step: string): Uint8Array {
  return brotliDecompressSync(readFileSync(fileOf(step)))
}

/** The file in which the database of a step is kept. */
export function fileOf(step: string): string {
  return join(folder, `${step}.db.br`)
}

/** All rows of a database, by the names that tables and columns have today. */
export async function rowsOf(client: Client, step: string): Promise<Map<string, Row[]>> {
  const rows = new Map<string, Row[]>()
  for (const table of await tablesOf(client)) {
    const found = (await client.execute(`SELECT * FROM "${table}"`)).rows
    const name = todaysName(step, table)
    const columns = namesOf(step, name).columns
    const today = Object.fromEntries(Object.entries(columns).map(([now, was]) => [was, now]))
    rows.set(
      name,
      found.map((row) =>
        Object.fromEntries(Object.entries(row).map(([column, value]) => [today[column] ?? column, value])) as Row
      ),
    )
  }
  return rows
}

/** The tables of the grid. */
async function tablesOf(client: Client): Promise<string[]> {
  const { rows } = await client.execute(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_\\_%' ESCAPE '\\'
      AND name NOT LIKE 'agent_search%' ORDER BY name`,
  )
  return rows.map(({ name }) => String(name))
}

/** What a table of today and its columns are called after a step. */
function namesOf(step: string, table: string): { table: string; columns: Record<string, string> } {
  const found = renamed.find((rename) => rename.table === table && step < rename.before)
  return { table: found?.was ?? table, columns: found?.columns ?? {} }
}

function todaysName(step: string, table: string): string {
  return renamed.find((rename) => rename.was === table && step < rename.before)?.table ?? table
}

async function write(step: string): Promise<number> {
  const temporary = mkdtempSync(join(tmpdir(), 'agent-grid-past-'))
  const path = join(temporary, 'grid.db')
  const client = createClient({ url: `file:${path}`, concurrency: 1 })
  try {
    // Small pages make a small file; the size of a page changes nothing else.
    await client.execute('PRAGMA page_size = 512')
    await migrate(client, migrations.slice(0, migrations.findIndex(({ name }) => name === step) + 1))
    await fill(client, step)
    await client.execute('VACUUM')
    client.close()
    const compressed = brotliCompressSync(readFileSync(path))
    writeFileSync(fileOf(step), compressed)
    return compressed.length
  } finally {
    client.close()
    rmSync(temporary, { recursive: true })
  }
}

/** Fails if a table of the schema stays empty, or a row points nowhere. */
async function fill(client: Client, step: string): Promise<void> {
  const tables = new Set(await tablesOf(client))
  const statements: { sql: string; args: Row[string][] }[] = []
  for (const [today, rows] of Object.entries(await story())) {
    const { table, columns } = namesOf(step, today)
    if (!tables.has(table)) continue
    const { rows: info } = await client.execute(`PRAGMA table_info("${table}")`)
    const known = new Set(info.map(({ name }) => String(name)))
    for (const row of rows) {
      const values = Object.entries(row).map(([column, value]) => [columns[column] ?? column, value] as const)
        .filter(([column]) => known.has(column))
      const names = values.map(([column]) => `"${column}"`)
      statements.push({
        sql: `INSERT INTO "${table}" (${names}) VALUES (${names.map(() => '?')})`,
        args: values.map(([, value]) => value),
      })
    }
  }
  if (tables.has('projections')) {
    statements.push({ sql: 'UPDATE projections SET seq = ? WHERE name = ?', args: [placed.seq, placed.name] })
  }
  // Without foreign keys, so that the order of the tables does not matter.
  await client.migrate(statements)
  const { rows: dangling } = await client.execute('PRAGMA foreign_key_check')
  if (dangling.length > 0) throw new Error(`Rows of ${step} point nowhere: ${JSON.stringify(dangling)}`)
  for (const [table, rows] of await rowsOf(client, step)) {
    if (rows.length === 0) {
      throw new Error(`The table ${table} of ${step} is empty. Add rows to past-databases/story.ts.`)
    }
  }
}

if (process.argv[1]?.endsWith('past-databases.ts')) {
  mkdirSync(folder, { recursive: true })
  for (const { name } of migrations) {
    if (!existsSync(fileOf(name))) console.log(`${fileOf(name)}: ${await write(name)} bytes`)
  }
}
