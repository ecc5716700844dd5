/** The store: the open database with its write queue, and access to account tables and global tables. */
import type { Client } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { migrations } from '../../db/migrations.ts'
import type { Actor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../lib/id.ts'
import type { KeyRing } from '../lib/key-ring.ts'
import { KeyedMutex } from '../lib/limits/keyed-mutex.ts'
import { Repeated } from '../lib/repeated.ts'
import { second } from '../lib/time.ts'
import { accountOpener, type AccountStore, prepareAccountTables, type StoreContext } from './account.ts'
import { createCopier } from './backup/copier.ts'
import type { Statement } from './driver/binding.ts'
import type { Storage } from './driver/disk-space.ts'
import { type FileOwner, holdsLock, releaseLocalFile, removeOwner, writeOwner } from './driver/local-file.ts'
import { removePreviousFiles } from './driver/previous-file.ts'
import type { BackupHistory } from './global/backups.ts'
import { type GlobalTables, prepareGlobalTables } from './global.ts'
import { type Database, type DatabaseOptions, openDatabase } from './open-database.ts'
import { type DatabaseHealth, readHealth } from './health.ts'
import { LiveFeed } from './live.ts'
import { PresenceExchange } from './presence.ts'
import { type UnitRows, WriteQueue } from './queue.ts'
import { type ActivityEntry, writeWithActivity } from './recording.ts'
import { inSets } from './unit-sets.ts'
import { openWaiting, type Waiting } from './waiting.ts'

export interface Store {
  readonly deps: Deps
  /** The tables of one account, for one caller. `confirm`: see `AccountStore`. */
  account(accountId: string, actor: Actor, confirm?: () => Promise<void>): AccountStore
  /** Tables that belong to no account, and the cross-account queries. */
  readonly global: GlobalTables
  /** Encrypts secrets of users. Those of accounts are encrypted by their `AccountStore`. */
  readonly keyRing: KeyRing
  /** Waiting reads and event streams of this process, and their limits. */
  readonly waiting: Waiting
  /** How many messages are not placed in conversations yet, as this process last saw it. */
  readonly projection: { behind: number }
  /** What is known of the backups of the database, as this process last saw it. */
  backups: BackupHistory
  /** Whether the disk has space for what is sent. */
  readonly storage: Storage
  /**
   * Commit statements as one unit; they may belong to several accounts. Resolves once the unit is on disk. Fails with
   * `write_conflict` if a constraint or a precondition failed, with `storage_full`, and with `unavailable`.
   */
  write(statements: Statement[]): Promise<UnitRows>
  /** `write`, with a row in the activity log of each of these accounts in the same unit. */
  record(rows: ActivityEntry[], statements: Statement[]): Promise<UnitRows>
  /** `full` or `relaxed` for a local file. `remote`: the server decides. */
  readonly durability: 'full' | 'relaxed' | 'remote'
  /** Names of the migrations that this start applied. */
  readonly migrated: string[]
  /** The version of the schema. Every start migrates to the newest. */
  readonly schemaVersion: number
  /** The id of this process. Each start makes a new one. */
  readonly instanceId: string
  /**
   * Store who is at the agents of this process, and read what others stored; runs every second by itself.
   */
  exchangeUsage(): Promise<void>
  /** Read who is at agents through other processes; a server does so every 2 seconds. It never fails. */
  loadPresence(): Promise<void>
  /** Fails if the database does not answer. */
  ping(): Promise<void>
  /** Facts of the database and of its write queue, for `agent-grid doctor`. */
  health(): Promise<{ database: DatabaseHealth; waitingUnits: number }>
  /** Remove what is kept of a local file from before a migration. Returns the files. */
  removePreviousFiles(): string[]
  /** Publish where this process takes commands. Does nothing on a remote database. */
  announce(control: FileOwner['control']): void
  /**
   * Write the state of one commit into a new SQLite file, with everything that was acknowledged before the call. One copy
   * is made at a time. Fails with `storage_full`, and when the store is closed.
   */
  copyTo(target: string): Promise<void>
  /** Commit what is queued; for a local file, then checkpoint the log and release the file. */
  close(): Promise<void>
}

export interface StoreOptions extends DatabaseOptions {
  /**
   * Called with every statement before it runs; may throw (the tripwire of the tests). `crossAccountQuery` is the name
   * of a cross-account query.
   */
  inspect?: (sql: string, crossAccountQuery: string | undefined) => void
}

/** How many units of one account may wait to be recorded in its activity log. */
const maxRecording = 200

/**
 * Open the store: its database, which is locked if it is a local file, and migrated. Fails with `database_in_use` if
 * another process holds the local file, and with a `StartError`.
 */
export async function openStore(deps: Deps, options: StoreOptions = {}): Promise<Store> {
  const database = await openDatabase(deps, options)
  try {
    return await buildStore(database, deps, options)
  } catch (error) {
    throw database.abandon(error)
  }
}

async function buildStore(
  database: Database,
  deps: Deps,
  { inspect: inspectQuery, readSpace }: StoreOptions,
): Promise<Store> {
  const { client, queryBatcher, storage, lookups, onStorageFault, path, owner, migrated, epoch, keyRing } = database
  const crossAccountQueries = new Map<string, string>()
  const inspect = inspectQuery && ((sql: string) => inspectQuery(sql, crossAccountQueries.get(sql)))
  // drizzle only runs reads, so `execute` is the only method it needs.
  const db = drizzle({ client: (queryBatcher ?? client) as Client, logger: inspect && { logQuery: inspect } })
  const queue = new WriteQueue({
    client,
    log: deps.log,
    now: deps.now,
    local: path !== undefined,
    order: path === undefined ? inSets : undefined,
    storage,
    inspect,
    lookups,
    onStorageFault,
    async checkConnection() {
      // The driver drops a connection that it cannot roll back. The next one would have no lock and no pragmas.
      if (path && !(await holdsLock(client))) throw new Error('The lock on the database file is gone')
    },
  })
  const copier = createCopier({
    database,
    betweenCommits: (work) => queue.betweenCommits(work),
    minFreeBytes: deps.config.minFreeMegabytes * 2 ** 20,
    readSpace,
  })
  const global = prepareGlobalTables(db, crossAccountQueries, lookups)
  const waiting = openWaiting(deps, global.newDeliveries, path !== undefined)
  const instanceId = newId()
  const tablesOf = prepareAccountTables(db, crossAccountQueries, lookups)
  const live = new LiveFeed({ global, tablesOf, deps, presenceAt: (agent) => presence.presences.at(agent) })
  const exchange: Repeated = new Repeated(
    () => presence.exchange(),
    second,
  )
  const presence = new PresenceExchange({
    tablesOf,
    global,
    writeLater: (statements) => queue.writeLater(statements),
    deps,
    instanceId,
    isAlone: path !== undefined,
    exchange,
  })
  const context: StoreContext = {
    tablesOf,
    queue,
    lookups,
    activityMutex: new KeyedMutex(maxRecording),
    keyRing,
    deps,
    epoch,
    instanceId,
    waiting,
    live,
    presences: presence.presences,
  }
  await presence.load()

  return {
    deps,
    account: accountOpener(context),
    global,
    keyRing,
    waiting,
    projection: { behind: 0 },
    backups: {},
    storage,
    write: (statements) => queue.write('', statements),
    record: (rows, statements) => writeWithActivity(context, rows, statements),
    durability: path ? deps.config.durability : 'remote',
    migrated,
    schemaVersion: migrations.length,
    instanceId,
    async exchangeUsage() {
      await exchange.run()
      await queue.drained()
    },
    async ping() {
      await client.execute('SELECT 1')
    },
    async health() {
      const source = { client, global, isLocal: path !== undefined, servedBy: instanceId, now: deps.now }
      return { database: await readHealth(source, false), waitingUnits: queue.waiting }
    },
    loadPresence: () => presence.load(),
    removePreviousFiles: () => path ? removePreviousFiles(path) : [],
    announce(control) {
      if (path) writeOwner(path, Object.assign(owner, { control }))
    },
    copyTo: copier.copyTo,
    async close() {
      await copier.stop()
      await Promise.all([waiting.close(), live.close()])
      exchange.close()
      presence.close()
      await queue.end()
      lookups.end()
      if (path) {
        // Before the lock is released: afterwards the file may belong to the next owner.
        removeOwner(path)
        await releaseLocalFile(client).catch(() => {})
      }
      queryBatcher?.close()
      client.close()
      copier.close()
    },
  }
}
