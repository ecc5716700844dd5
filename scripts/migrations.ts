/**
 * `npm run migration`: makes the baseline anew from `db/schema.ts` and `db/extra.sql`: its SQL with the snapshot of
 * drizzle-kit in `db/migrations`, and `db/migrations.ts`, which carries the SQL into the program. See
 * docs/operations.md, "Migrations".
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { tablesWithoutRowid } from '../db/schema.ts'

const name = '0000_grid'
const breakpoint = '--> statement-breakpoint'

/** Write the baseline of the schema into the empty `folder`. Returns the text of `db/migrations.ts`. */
export function makeBaseline(folder: string): string {
  const kit = ['node_modules/drizzle-kit/bin.cjs', 'generate', '--dialect', 'turso', '--schema', 'db/schema.ts']
  execFileSync(process.execPath, [...kit, '--name', 'grid', '--out', relative('.', folder)], { stdio: 'pipe' })
  // The same schema gives the same files.
  edit(join(folder, 'meta/_journal.json'), (text) => text.replace(/"when": \d+/, '"when": 0'))
  edit(join(folder, 'meta/0000_snapshot.json'), (text) => text.replace(/"id": "[^"]+"/, `"id": "${name}"`))
  const [, ...extra] = readFileSync('db/extra.sql', 'utf8').trim().split(/\n{2,}/)
  const sql = edit(
    join(folder, `${name}.sql`),
    (tables) => [...tables.split(breakpoint).map(complete), ...extra].join(`\n${breakpoint}\n`) + '\n',
  )
  const statements = sql.trim().split(`\n${breakpoint}\n`)
  const steps = [{ name, hash: createHash('sha256').update(sql).digest('hex'), statements }]
  return `// Made by scripts/migrations.ts. Do not edit.
export const migrations: { name: string; hash: string; statements: string[] }[] = ${JSON.stringify(steps, null, 2)}
`
}

/** With what drizzle cannot say of a table. */
function complete(statement: string): string {
  const [, table] = /^CREATE TABLE `(.+)` \(/.exec(statement.trim()) ?? []
  return statement.trim().replace(/\);$/, tablesWithoutRowid.includes(table) ? ') WITHOUT ROWID;' : ');')
}

function edit(file: string, change: (text: string) => string): string {
  const text = change(readFileSync(file, 'utf8'))
  writeFileSync(file, text)
  return text
}

if (process.argv[1]?.endsWith('migrations.ts')) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-baseline-'))
  try {
    const module = makeBaseline(folder)
    rmSync('db/migrations', { recursive: true, force: true })
    cpSync(folder, 'db/migrations', { recursive: true })
    writeFileSync('db/migrations.ts', module)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
