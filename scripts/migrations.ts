/**
 * `npm run migration`: makes `db/migrations.ts`, the baseline that carries the schema into the program, anew from
 * `db/schema.ts` and `db/extra.sql`, and `db/derived-tables.ts` from the schema and `db/account-tables.ts`, so that a start
 * computes nothing. See docs/operating/upgrades.md, "Upgrades".
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { getTableName } from 'drizzle-orm'
import { getTableConfig } from 'drizzle-orm/sqlite-core'
import { accountTables } from '../db/account-tables.ts'
import * as schema from '../db/schema.ts'

const { tablesWithoutRowid } = schema

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

/** The text of `db/derived-tables.ts`. */
export function makeDerivedTables(): string {
  const names = Object.keys(accountTables) as (keyof typeof accountTables)[]
  const configs = names.map((name) => ({ ...getTableConfig(schema[name]), ...accountTables[name] }))
  const sealed = configs.filter(({ columns }) => columns.some(({ name }) => name === 'encrypted_token'))
  const keys = configs.filter(({ name }) => tablesWithoutRowid.includes(name)).map(({ name, primaryKeys: [key] }) =>
    `  ${name}: '${key.columns.map((column) => column.name).join(', ')}',\n`
  )
  const list = (names: string[]) => names.map((name) => `  '${name}',\n`).join('')
  return `// Made by scripts/migrations.ts. Do not edit.
/** The tables that the removal of an account drains, in an order that their foreign keys allow. */
export const drainedTables: readonly string[] = [
${list(inOrder(configs.filter(({ removal }) => removal === 'drained')))}]

/** The tables of accounts with sealed tokens. */
export const sealedTables: readonly string[] = [
${list(sealed.map(({ name }) => name))}]

/** The primary keys of tables whose rows SQLite stores by them. The others have a \`rowid\`. */
export const primaryKeys: Readonly<Record<string, string>> = {
${keys.join('')}}
`
}

/** Each table before those that it references. */
function inOrder(tables: Pick<ReturnType<typeof getTableConfig>, 'name' | 'foreignKeys'>[]): string[] {
  const waiting = new Map(tables.map((table) => [table.name, table]))
  const ordered: string[] = []
  while (waiting.size > 0) {
    const referenced = new Set(
      [...waiting.values()].flatMap(({ name, foreignKeys }) =>
        foreignKeys.map((key) => getTableName(key.reference().foreignTable)).filter((table) => table !== name)
      ),
    )
    const free = [...waiting.keys()].filter((name) => !referenced.has(name))
    if (free.length === 0) throw new Error(`These tables reference each other: ${[...waiting.keys()].join(', ')}`)
    for (const name of free) waiting.delete(name)
    ordered.push(...free)
  }
  return ordered
}

if (process.argv[1]?.endsWith('migrations.ts')) {
  writeFileSync('db/migrations.ts', makeBaseline())
  writeFileSync('db/derived-tables.ts', makeDerivedTables())
}
