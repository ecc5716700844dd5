/** The data about a database that `agent-grid doctor` checks. Reading it changes nothing. */
import type { Client } from '@libsql/client'
import type { Config } from '../config.ts'
import { openStopped } from './backup/stopped.ts'
import { localPath } from './driver/local-file.ts'
import { type GlobalTables, globalTables } from './global.ts'
import { rebuiltFollowers } from './global/pulse.ts'
import type { SealedToken } from '../lib/key-ring.ts'
import { tokensByKey } from './global/sealed-tokens.ts'
import { type MigrationPlan, planMigration } from './migrate.ts'
import { clientSettings, databaseName, requestTimeoutMs } from './open-database.ts'
import { Db } from './sql.ts'
import { explained } from './start-error.ts'

/** Returns at most ten problems. Reads the whole database. `isFull` also compares the indexes with their tables. */
async function findDamage(client: Client, isFull: boolean): Promise<string[]> {
  const name = isFull ? 'integrity_check' : 'quick_check'
  const { rows } = await client.execute(`PRAGMA ${name}(10)`)
  const lines = rows.map((row) => String(row[0]))
  return lines.length === 1 && lines[0] === 'ok' ? [] : lines
}

interface HealthSource {
  client: Client
  global: Pick<GlobalTables, 'clock' | 'keyChecks' | 'pulses' | 'sealedTokens'>
  isLocal: boolean
  /** Whether other calls wait while this process reads. */
  isServer: boolean
  now: () => number
}

export interface DatabaseHealth {
  /** A local file's pragmas that decide whether acknowledged messages are on disk. With `synchronous` 2, they are. */
  writeMode: { journal: string; synchronous: number } | null
  /** Damage, and the number of rows with broken references. Null if the database is too large for a complete read. */
  damage: string[] | null
  danglingRows: number | null
  /** The latest stored time, in milliseconds. */
  storedAt: number | null
  now: number
  /** The number of skipped log rows that a rebuild of the conversations would read again. */
  leftOut: number
  keys: { key: string; tokens: number }[]
  /** The stored check texts of keys. See `wrongKeys`. */
  keyChecks: SealedToken[]
}

/** A database up to this size is read completely, which takes about a second, or about 30 ms in a server. */
const wholeBytes = 256 * 2 ** 20
const wholeBytesServed = 16 * 2 ** 20

/** Reads the data about a database. `isFull` reads everything, which may take minutes and would block a server. */
export async function readHealth(source: HealthSource, isFull: boolean): Promise<DatabaseHealth> {
  const { client, global, isLocal, isServer, now } = source
  const pragma = async (name: string) => (await client.execute(`PRAGMA ${name}`)).rows[0][0]
  const number = async (name: string) => Number(await pragma(name))
  const most = isServer ? wholeBytesServed : wholeBytes
  const isRead = isLocal && (isFull || await number('page_count') * await number('page_size') <= most)
  const writeMode = async () => ({
    journal: String(await pragma('journal_mode')),
    synchronous: await number('synchronous'),
  })
  return {
    writeMode: isLocal ? await writeMode() : null,
    damage: isRead ? await findDamage(client, isFull) : null,
    danglingRows: isRead ? (await client.execute('PRAGMA foreign_key_check')).rows.length : null,
    storedAt: await global.clock.storedAt() ?? null,
    now: now(),
    leftOut: await global.pulses.skipped(rebuiltFollowers),
    keys: [...await tokensByKey(global.sealedTokens)].map(([key, tokens]) => ({ key, tokens })),
    keyChecks: await global.keyChecks.all(),
  }
}

interface InspectedDatabase {
  client: Client
  /** The migrations that the next start would apply. Fails with the `StartError` of a start that would be refused. */
  plan(): Promise<MigrationPlan>
  /** Reads the data about a database with the newest schema. `isFull`: see `readHealth`. */
  health(isFull: boolean): Promise<DatabaseHealth>
}

/** Opens the database for `look`, and closes it afterwards. Fails with the same `StartError` as a start. */
export async function inspectDatabase<Result>(
  config: Config,
  now: () => number,
  look: (database: InspectedDatabase) => Promise<Result>,
): Promise<Result> {
  const path = localPath(config.databaseUrl)
  let close: (() => Promise<void>) | undefined
  try {
    const opened = await openStopped(clientSettings(config, { ms: requestTimeoutMs }), config.durability)
    const { client } = opened
    close = opened.close
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
    await close?.()
  }
}
