/** A stopped grid with rows in every table, of which the doctor has nothing to say. */
import { createClient } from '@libsql/client'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../db/migrations.ts'
import { pastDatabase } from '../../scripts/past-databases.ts'
import { keys } from '../../scripts/past-databases/story.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { type TemporaryDatabase, temporaryDatabase } from './process.ts'

export interface WellGrid extends TemporaryDatabase {
  path: string
  /** Its settings. */
  env: Record<string, string>
}

/** Faults of the disk on which tests run are not those of the grid. */
export const checksOfMachine = ['file_system', 'disk_space', 'durability']

export async function wellGrid(): Promise<WellGrid> {
  const database = temporaryDatabase()
  const path = join(database.folder, 'grid.db')
  writeFileSync(path, pastDatabase(migrations.at(-1)!.name), { mode: 0o600 })
  writeFileSync(`${path}.keys`, keys, { mode: 0o600 })
  await runSql(
    path,
    `UPDATE store_facts SET value = ${Date.now()} WHERE key = 'clock'`,
    `UPDATE deliveries SET created_at = ${Date.now()}`,
  )
  const port = String(await freePort('127.0.0.1'))
  return { ...database, path, env: { DATABASE_URL: database.url, PORT: port, MIN_FREE_MB: '1', BALLAST_MB: '0' } }
}

/** Run statements on a file that no other process has. */
export async function runSql(path: string, ...statements: string[]): Promise<void> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 })
  for (const statement of statements) await client.execute(statement)
  client.close()
}
