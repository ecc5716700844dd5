/** Looking at a database as it is: it is locked if it is a local file, and neither migrated nor written to. */
import type { Client } from '@libsql/client'
import type { Config } from '../config.ts'
import { connect } from './driver/local-client.ts'
import { type FileLock, lockFile } from './driver/file-lock.ts'
import { localPath, releaseLocalFile, setPragmas } from './driver/local-file.ts'
import { globalTables } from './global.ts'
import { type DatabaseHealth, readHealth } from './health.ts'
import { Db } from './sql.ts'
import { type MigrationPlan, planMigration } from './migrate.ts'
import { clientSettings, databaseName, requestTimeoutMs } from './open-database.ts'
import { explained } from './start-error.ts'

/** A database that was opened to be looked at. */
export interface InspectedDatabase {
  client: Client
  /** Tells what a start would migrate. Fails with the `StartError` of a start that would be refused. */
  plan(): Promise<MigrationPlan>
  /** Facts of a database with the newest schema. `isFull`: see `readHealth`. */
  health(isFull: boolean): Promise<DatabaseHealth>
}

/**
 * Open the database for `look`, and close it. A local file must exist. Fails with `database_in_use` if another process
 * holds the local file, and with the `StartError` that a start would fail with.
 */
export async function inspectDatabase<Result>(
  config: Config,
  now: () => number,
  look: (database: InspectedDatabase) => Promise<Result>,
): Promise<Result> {
  const path = localPath(config.databaseUrl)
  const client = connect(clientSettings(config, { ms: requestTimeoutMs }))
  let lock: FileLock | undefined
  try {
    if (path) {
      lock = await lockFile(path)
      await setPragmas(client, config.durability)
    }
    return await look({
      client,
      plan: () => planMigration(client, databaseName(config, path)),
      health(isFull) {
        const global = globalTables(new Db(client))
        return readHealth({ client, global, isLocal: path !== undefined, isServer: false, now }, isFull)
      },
    })
  } catch (error) {
    throw explained(error, config.databaseUrl, path)
  } finally {
    if (lock) await releaseLocalFile(client)
    else client.close()
    await lock?.release()
  }
}
