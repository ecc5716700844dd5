/**
 * `npm run migration`: makes `db/migrations.ts`, the baseline that carries the schema into the program, anew from
 * `db/schema.ts` and `db/extra.sql`. See docs/operating.md, "Upgrades".
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { tablesWithoutRowid } from '../db/schema.ts'

const name = '0000_grid'

/** The text of `db/migrations.ts`. */
export function makeBaseline(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-baseline-'))
  try {
    const kit = ['node_modules/drizzle-kit/bin.cjs', 'generate', '--dialect', 'turso', '--schema', 'db/schema.ts']
    execFileSync(process.execPath, [...kit, '--name', 'grid', '--out', relative('.', folder)], { stdio: 'pipe' })
    const tables = readFileSync(join(folder, `${name}.sql`), 'utf8').split('--> statement-breakpoint')
    const [, ...extra] = readFileSync('db/extra.sql', 'utf8').trim().split(/\n{2,}/)
    const statements = [...tables.map(complete), ...extra]
    const steps = [{ name, hash: createHash('sha256').update(statements.join('\n')).digest('hex'), statements }]
    return `// Made by scripts/migrations.ts. Do not edit.
export const migrations: { name: string; hash: string; statements: string[] }[] = ${JSON.stringify(steps, null, 2)}
`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** With what drizzle cannot say of a table. */
function complete(statement: string): string {
  const [, table] = /^CREATE TABLE `(.+)` \(/.exec(statement.trim()) ?? []
  return statement.trim().replace(/\);$/, tablesWithoutRowid.includes(table) ? ') WITHOUT ROWID;' : ');')
}

if (process.argv[1]?.endsWith('migrations.ts')) writeFileSync('db/migrations.ts', makeBaseline())
