/**
 * `npm run migration -- NAME`: writes the SQL that migrates the last schema to `db/schema.ts`, and `db/migrations.ts`,
 * which contains the SQL of all migrations, so that no files are read at run time. Then it writes a filled database of
 * the new schema for the tests of later ones.
 */
import { execFileSync } from 'node:child_process'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { readdirSync, writeFileSync } from 'node:fs'

/** The text of `db/migrations.ts`, from the SQL files in `db/migrations`. */
export function migrationsModule(): string {
  const names = readdirSync('db/migrations').filter((name) => name.endsWith('.sql')).sort()
  const steps = readMigrationFiles({ migrationsFolder: 'db/migrations' }).map((step, i) => ({
    name: names[i].replace(/\.sql$/, ''),
    hash: step.hash,
    createdAt: step.folderMillis,
    statements: step.sql.map((statement) => statement.trim()),
  }))
  return `// Generated from db/migrations by scripts/migrations.ts. Do not edit.
export const migrations: { name: string; hash: string; createdAt: number; statements: string[] }[] = ${
    JSON.stringify(steps, null, 2)
  }
`
}

if (process.argv[1]?.endsWith('migrations.ts')) {
  const [name = 'change'] = process.argv.slice(2)
  const options = ['--dialect', 'turso', '--schema', 'db/schema.ts', '--out', 'db/migrations', '--name', name]
  execFileSync('drizzle-kit', ['generate', ...options], { stdio: 'inherit' })
  writeFileSync('db/migrations.ts', migrationsModule())
  // What the next migration will have to migrate.
  execFileSync('tsx', ['scripts/past-databases.ts'], { stdio: 'inherit' })
}
