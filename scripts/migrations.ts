/** Write `db/migrations.ts` from the generated SQL, so that nothing reads files at run time. Run by `npm run migration`. */
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { readdirSync, writeFileSync } from 'node:fs'

/** The text of `db/migrations.ts` for the SQL files in `db/migrations`. */
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

if (process.argv[1]?.endsWith('migrations.ts')) writeFileSync('db/migrations.ts', migrationsModule())
