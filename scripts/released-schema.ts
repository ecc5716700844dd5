/**
 * `npm run lab -- released-schema VERSION`: writes a database with the current schema and a row in every table into
 * `test/fixtures/released/VERSION/`. `test/store/upgrades.test.ts` runs every later step on it. `--freeze`, which
 * belongs in the release commit, also writes the steps to `db/released.ts`, so that `npm run migration` no longer
 * changes them.
 */
import Database from 'libsql'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { brotliCompressSync } from 'node:zlib'
import { migrations } from '../db/migrations.ts'
import { newKeyRing } from '../src/lib/key-ring.ts'
import { tableNames } from '../src/store/backup/tables.ts'
import { fillAccount } from '../test/support/archived-account.ts'
import { testGrid } from '../test/support/grid.ts'
import { person } from '../test/support/people.ts'

const [version, freeze] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version ?? '')) throw new Error('Usage: npm run lab -- released-schema VERSION [--freeze]')
const folder = `test/fixtures/released/${version}`
mkdirSync(folder, { recursive: true })
const temporary = mkdtempSync(join(tmpdir(), 'agent-grid-released-'))
const file = join(temporary, 'grid.db')
const keys = newKeyRing()
const grid = await testGrid({ url: `file:${file}`, env: { GRID_KEYS: keys } })
await fillAccount(grid)
await person(grid, { email: 'pat@acme.example', role: 'owner' })
const { alice, bob, eve, clock } = grid
const accounts = [grid.acme, grid.evil].map(({ id, adminKey }) => ({ id, adminKey }))
const cast = { acme: accounts[0], evil: accounts[1], alice, bob, eve }
await grid.store.close()

const database = new Database(file)
database.exec('PRAGMA foreign_keys = on; PRAGMA journal_mode = delete')
const query = (sql: string, args: unknown[] = []) => Promise.resolve(database.prepare(sql).raw().all(args) as never[][])
for (let left = await emptyTables(), before = Infinity; left.length > 0; left = await emptyTables()) {
  if (left.length === before) throw new Error(`No row fits into ${left.join(', ')}`)
  before = left.length
  left.forEach(addRow)
}
const copy = join(temporary, 'copy.db')
database.prepare('VACUUM INTO ?').run(copy)
writeFileSync(`${folder}/grid.db.br`, brotliCompressSync(readFileSync(copy)))
writeFileSync(`${folder}/grid.json`, `${JSON.stringify({ madeAt: clock.now, keys, cast }, null, 2)}\n`)
if (freeze === '--freeze') {
  const list = migrations.map(({ name, hash }) => `  '${name}': '${hash}',\n`).join('')
  const text = readFileSync('db/released.ts', 'utf8').replace(/= \{[^]*\}/, `= {\n${list}}`)
  writeFileSync('db/released.ts', text)
}
rmSync(temporary, { recursive: true })
process.exit(0)

async function emptyTables(): Promise<string[]> {
  const names = await tableNames({ query })
  return names.filter((name) => database.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).all().length === 0)
}

/** Adds a row with the minimum content that the table accepts. The referenced tables must already have rows. */
function addRow(table: string): void {
  const values = new Map<string, unknown>()
  const columns = database.prepare(`PRAGMA table_info("${table}")`).all() as Record<string, never>[]
  for (const { name, type, notnull, pk, dflt_value } of columns) {
    if (!pk && (!notnull || dflt_value !== null)) continue
    values.set(name, type === 'INTEGER' ? 1n : type === 'BLOB' ? new Uint8Array(1) : `a ${name}`)
  }
  const references = database.prepare(`PRAGMA foreign_key_list("${table}") `).all() as Record<string, string>[]
  for (const id of new Set(references.map(({ id }) => id))) {
    const pairs = references.filter((one) => one.id === id)
    if (!pairs.every(({ from }) => values.has(from))) continue
    const row = database.prepare(`SELECT * FROM "${pairs[0].table}" LIMIT 1`).get() as
      | Record<string, unknown>
      | undefined
    if (!row) return
    for (const { from, to } of pairs) values.set(from, row[to])
  }
  const names = [...values.keys()]
  const places = names.map(() => '?').join(', ')
  try {
    database.prepare(`INSERT INTO "${table}" (${names.join(', ')}) VALUES (${places})`).run([...values.values()])
  } catch (error) {
    console.error(`${table}: ${(error as Error).message}`)
  }
}
