/** Forward-only migrations, applied at start. See docs/operations.md, "Migrations". */
import type { Client } from '@libsql/client'
import { migrations } from '../../db/migrations.ts'
import { isConstraint } from './driver/database-errors.ts'

type Migration = (typeof migrations)[number]

/**
 * Migrate the database to the newest schema. Returns the names of the applied steps. Each step is atomic and first
 * inserts its number, so two processes that start together do not apply a step twice. Throws if the database is newer
 * than this program.
 */
export async function migrate(client: Client, steps: readonly Migration[] = migrations): Promise<string[]> {
  await client.execute(
    'CREATE TABLE IF NOT EXISTS __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)',
  )
  const applied: string[] = []
  let version = await schemaVersion(client)
  if (version > steps.length) {
    throw new Error(
      `The database has schema ${version}, this program knows ${steps.length}. Start a newer agent-grid.`,
    )
  }
  while (version < steps.length) {
    const step = steps[version]
    try {
      await client.migrate([
        {
          sql: 'INSERT INTO __drizzle_migrations (id, hash, created_at) VALUES (?, ?, ?)',
          args: [version + 1, step.hash, step.createdAt],
        },
        ...step.statements,
        `PRAGMA user_version = ${version + 1}`,
      ])
      applied.push(step.name)
    } catch (error) {
      // Another process may have applied the step. If the version has not changed, the step itself is bad.
      if (!isConstraint(error) || (await schemaVersion(client)) <= version) throw error
    }
    version = await schemaVersion(client)
  }
  // The check reads the whole database, so it is skipped if nothing was applied.
  if (applied.length > 0) await checkForeignKeys(client)
  return applied
}

/** The number of the last applied step. */
export async function schemaVersion(client: Client): Promise<number> {
  const { rows } = await client.execute('SELECT count(*) AS steps FROM __drizzle_migrations')
  return Number(rows[0].steps)
}

/** Needed because `client.migrate` disables foreign keys during a step. */
async function checkForeignKeys(client: Client): Promise<void> {
  const { rows } = await client.execute('PRAGMA foreign_key_check')
  if (rows.length > 0) throw new Error(`The database has ${rows.length} rows that point nowhere. Restore a backup.`)
}
