/** Forward-only migrations, applied at start. */
import type { Client } from '@libsql/client'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrations } from '../../db/migrations.ts'
import { isBusy, isConstraint } from './driver/database-errors.ts'
import { StartError } from './start-error.ts'

/** While another migrating process locks the database, how often and how many times to retry (10 s in total). */
const [retryMs, maxTries] = [200, 50]

type Migration = (typeof migrations)[number]

/** The key of the fact with the number of steps that a program must know to use the database. */
const neededFact = 'needed_schema'

interface MigrationEvents {
  /** Called once before the first step if the database has a schema. If it fails, nothing is migrated. */
  before?(version: number): Promise<void>
  /** Called before each step, with its number `n` out of all `steps` of this program. */
  onStep?(step: string, n: number, steps: number): void
}

/**
 * Migrates the database to the newest schema. Errors refer to the database as `name`. Returns the names of the applied
 * steps, and the number of all steps of the database. Each step is atomic and first inserts its number, so two
 * processes that start together cannot both apply it. Fails with a `StartError` if the database is too new for this
 * program, was migrated with other steps, or belongs to another program.
 */
export async function migrate(
  client: Client,
  steps: readonly Migration[] = migrations,
  name = 'The database',
  events: MigrationEvents = {},
): Promise<{ applied: string[]; version: number }> {
  const applied: string[] = []
  let tries = 0
  let version = await schemaVersion(client, name, steps)
  const isNew = version === 0
  if (!isNew && version < steps.length) await events.before?.(version)
  while (version < steps.length) {
    const step = steps[version]
    try {
      if (!isNew) events.onStep?.(step.name, version + 1, steps.length)
      await client.migrate([
        'CREATE TABLE IF NOT EXISTS __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL)',
        { sql: 'INSERT INTO __drizzle_migrations (id, hash) VALUES (?, ?)', args: [version + 1, step.hash] },
        ...step.statements,
        {
          sql:
            'INSERT INTO store_facts (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
          args: [neededFact, String(neededBy(steps.slice(0, version + 1)))],
        },
        `PRAGMA user_version = ${version + 1}`,
      ])
      applied.push(step.name)
    } catch (error) {
      // Another process may have applied the step or be about to. If the version is unchanged, the step is faulty.
      if (isBusy(error) && tries++ < maxTries) await sleep(retryMs)
      else if (!isConstraint(error) || (await schemaVersion(client, name, steps)) <= version) throw error
    }
    version = await schemaVersion(client, name, steps)
  }
  // The check reads the whole database, so it is skipped if no step was applied.
  if (applied.length > 0) await checkForeignKeys(client, name)
  return { applied, version }
}

/** Returns the number of the last step after which older programs cannot use the database. */
function neededBy(steps: readonly Migration[]): number {
  return steps.reduce((needed, { compatible }, n) => compatible ? needed : n + 1, 1)
}

export interface MigrationPlan {
  version: number
  newest: number
  missing: string[]
}

/** Returns the steps that `migrate` would apply. Changes nothing, and fails in the same cases. */
export async function planMigration(
  client: Client,
  name: string,
  steps: readonly Migration[] = migrations,
): Promise<MigrationPlan> {
  return planAfter(await schemaVersion(client, name, steps), steps)
}

/** Returns the steps that a migration of a database with this schema would apply. None if the schema is newer. */
export function planAfter(version: number, steps: readonly Migration[] = migrations): MigrationPlan {
  return { version, newest: steps.length, missing: steps.slice(version).map((step) => step.name) }
}

/**
 * Returns the number of applied steps. It exceeds the number of `steps` if a newer program's steps leave the database
 * usable. Fails with a `StartError` if this program cannot use the schema.
 */
async function schemaVersion(client: Client, name: string, steps: readonly Migration[]): Promise<number> {
  const { rows: tables } = await client.execute(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      AND name NOT LIKE 'libsql\\_%' ESCAPE '\\'`,
  )
  if (tables.length === 0) return 0
  const isOurs = tables.some((table) => table.name === '__drizzle_migrations')
  const { rows } = isOurs ? await client.execute('SELECT hash FROM __drizzle_migrations ORDER BY id') : { rows: [] }
  // The first step creates its tables and its row in one unit, so tables without a row belong to another program.
  if (rows.length === 0) {
    throw new StartError(
      'database_not_empty',
      `${name} belongs to another program: it has the table ${
        tables[0].name
      }. Set DATABASE_URL to the database of the ` +
        'grid, or to one that is empty.',
    )
  }
  // A step with a different text than the applied one would create an unexpected schema.
  const changed = steps.find((step, i) => i < rows.length && step.hash !== rows[i].hash)
  if (changed) {
    throw new StartError(
      'migration_changed',
      `${name} was migrated with another version of step ${changed.name} than this program has. ` +
        'A database of a version before 1.0.0, or of a development version, is not migrated: carry its accounts over. With ' +
        'the agent-grid that migrated it, "agent-grid list-accounts", and for each "agent-grid export-account --account ID ' +
        'ID.archive". Then start this one on a new database, and there "agent-grid import-account ID.archive --fingerprint F". ' +
        'See docs/operating/upgrades.md, "Databases of versions before 1.0.0".',
    )
  }
  if (rows.length > steps.length && await neededSchema(client) > steps.length) {
    throw new StartError(
      'schema_newer',
      `${name} has schema ${rows.length}, this program knows ${steps.length}. Use a newer agent-grid, or another backup.`,
    )
  }
  return rows.length
}

async function neededSchema(client: Client): Promise<number> {
  const { rows: [fact] } = await client.execute({
    sql: 'SELECT value FROM store_facts WHERE key = ?',
    args: [neededFact],
  })
  return fact === undefined ? Infinity : Number(fact.value)
}

/** Checks foreign keys, because `client.migrate` disables them during a step. */
async function checkForeignKeys(client: Client, name: string): Promise<void> {
  const { rows } = await client.execute('PRAGMA foreign_key_check')
  if (rows.length > 0) {
    throw new StartError(
      'database_damaged',
      `${name} has ${rows.length} rows with broken references. Restore a backup.`,
    )
  }
}
