/** The facts of a database that `agent-grid doctor` judges. Nothing is changed. */
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

/** At most ten lines. It reads the whole database. With `isFull` indexes are compared with their tables too. */
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
  /** Whether other calls wait for this process. */
  isServer: boolean
  now: () => number
}

export interface DatabaseHealth {
  /** The pragmas of a local file that decide whether an acknowledged message is on disk. `synchronous` 2: each is. */
  writeMode: { journal: string; synchronous: number } | null
  /** Damage, and the number of rows with broken references; null if the database is too large for a full read. */
  damage: string[] | null
  danglingRows: number | null
  /** The latest time that was stored, in milliseconds. */
  storedAt: number | null
  now: number
  /** Rows of the log that a rebuild of the conversations would read again. */
  leftOut: number
  keys: { key: string; tokens: number }[]
  /** See `wrongKeys`. */
  keyChecks: SealedToken[]
}

/** A database up to this size is read completely, in about a second, or in about 30 ms in a server. */
const wholeBytes = 256 * 2 ** 20
const wholeBytesServed = 16 * 2 ** 20

/** Read the facts. With `isFull` everything is read, which may take minutes; not for a server, in which others wait. */
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
  /** The migrations of the next start. Fails with the `StartError` of a start that would be refused. */
  plan(): Promise<MigrationPlan>
  /** Facts of a database with the newest schema. `isFull`: see `readHealth`. */
  health(isFull: boolean): Promise<DatabaseHealth>
}

/** Open the database for `look`, and close it. Fails with the `StartError` of a start. */
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
