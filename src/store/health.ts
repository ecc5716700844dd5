/** The facts of a database that `agent-grid doctor` judges. Nothing is changed. */
import type { Client } from '@libsql/client'
import type { Config } from '../config.ts'
import { type FileLock, lockFile } from './driver/file-lock.ts'
import { localPath, releaseLocalFile, setPragmas } from './driver/local-file.ts'
import { connect } from './driver/remote-client.ts'
import { type GlobalTables, globalTables } from './global.ts'
import { tokensByKey } from './global/sealed-tokens.ts'
import { type MigrationPlan, planMigration } from './migrate.ts'
import { clientSettings, databaseName, requestTimeoutMs } from './open-database.ts'
import { Db } from './sql.ts'
import { explained } from './start-error.ts'

/** How a local file is written, as SQLite has it in force. */
interface WriteMode {
  journal: string
  /** 2: each commit is fsynced. */
  synchronous: number
}

/** The pragmas that decide whether an acknowledged message is on disk. */
async function writeMode(client: Client): Promise<WriteMode> {
  return {
    journal: String(await pragma(client, 'journal_mode')),
    synchronous: Number(await pragma(client, 'synchronous')),
  }
}

async function pageBytes(client: Client): Promise<number> {
  return Number(await pragma(client, 'page_count')) * Number(await pragma(client, 'page_size'))
}

/** At most ten lines. It reads the whole database. With `isFull` indexes are compared with their tables too. */
async function findDamage(client: Client, isFull: boolean): Promise<string[]> {
  const name = isFull ? 'integrity_check' : 'quick_check'
  const { rows } = await client.execute(`PRAGMA ${name}(10)`)
  const lines = rows.map((row) => String(row[0]))
  return lines.length === 1 && lines[0] === 'ok' ? [] : lines
}

/** How many rows point to rows that are missing. It reads the whole database too. */
async function countDangling(client: Client): Promise<number> {
  return (await client.execute('PRAGMA foreign_key_check')).rows.length
}

async function pragma(client: Client, name: string): Promise<unknown> {
  return (await client.execute(`PRAGMA ${name}`)).rows[0][0]
}

interface HealthSource {
  client: Client
  global: Pick<GlobalTables, 'clock' | 'sealedTokens'>
  isLocal: boolean
  /** Whether other calls wait for this process. */
  isServer: boolean
  now: () => number
}

export interface DatabaseHealth {
  writeMode: WriteMode | null
  /** What is damaged, and how many rows point nowhere; null if the database is too large to be read whole. */
  damage: string[] | null
  danglingRows: number | null
  /** The latest time that was stored, in milliseconds. */
  storedAt: number | null
  now: number
  keys: { key: string; tokens: number }[]
}

/** A database of up to this size is read whole: in about a second, or in some 30 ms in a server. */
const wholeBytes = 256 * 2 ** 20
const wholeBytesServed = 16 * 2 ** 20

/** Read the facts. With `isFull` everything is read, which may take minutes; not for a server, in which others wait. */
export async function readHealth(source: HealthSource, isFull: boolean): Promise<DatabaseHealth> {
  const { client, global, isLocal, isServer, now } = source
  const isRead = isLocal && (isFull || await pageBytes(client) <= (isServer ? wholeBytesServed : wholeBytes))
  return {
    writeMode: isLocal ? await writeMode(client) : null,
    damage: isRead ? await findDamage(client, isFull) : null,
    danglingRows: isRead ? await countDangling(client) : null,
    storedAt: await global.clock.storedAt() ?? null,
    now: now(),
    keys: [...await tokensByKey(global.sealedTokens)].map(([key, tokens]) => ({ key, tokens })),
  }
}

interface InspectedDatabase {
  client: Client
  /** Tells what a start would migrate. Fails with the `StartError` of a start that would be refused. */
  plan(): Promise<MigrationPlan>
  /** Facts of a database with the newest schema. `isFull`: see `readHealth`. */
  health(isFull: boolean): Promise<DatabaseHealth>
}

/** Open the database for `look`, and close it. Fails with the `StartError` that a start would fail with. */
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
