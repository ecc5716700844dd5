/** The store: the open database with its write queue, and access to account tables and global tables. */
import type { Deps } from '../deps.ts'
import { newId } from '../lib/id.ts'
import { type KeyRing, type SealedToken, wrongKeys } from '../lib/key-ring.ts'
import { Presences } from '../presence.ts'
import {
  accountOpener,
  type ActivityEntry,
  type CoreHooks,
  type OpenAccount,
  type StoreContext,
  writeWithActivity,
} from './account.ts'
import { accountTables } from './account-tables.ts'
import { createCopier } from './backup/copier.ts'
import type { DiskSpace } from './driver/disk-space.ts'
import { bytesOf, type FileOwner, releaseLocalFile, removeOwner, writeOwner } from './driver/local-file.ts'
import { removePreviousFiles } from './driver/previous-file.ts'
import { queriesOf } from './driver/remote-client.ts'
import type { BackupHistory } from './global/backups.ts'
import { KeyCache } from './global/credentials.ts'
import { secretContext, type SecretTable } from './global/sealed-tokens.ts'
import { type GlobalTables, globalTables } from './global.ts'
import { storeKeyCheck } from './open-key-ring.ts'
import { type Database, type DatabaseOptions, openDatabase } from './open-database.ts'
import { type DatabaseHealth, readHealth } from './health.ts'
import { LiveFeed } from './live.ts'
import { Loop } from './loop.ts'
import { type UnitRows, WriteQueue } from './queue.ts'
import { Db, type Inspect, type Statement } from './sql.ts'
import { openWaiting, type Waiting } from './waiting.ts'

/** `databaseBytes` is undefined for a remote database. */
export interface ProcessLoad {
  waitingUnits: number
  pausedServers: number
  databaseBytes?: number
}

export interface Store {
  readonly deps: Deps
  readonly account: OpenAccount
  /** Tables that belong to no account, and the cross-account queries. */
  readonly global: GlobalTables
  /** An optional feature's lookups across accounts. */
  feature<T>(tables: (db: Db) => T): T
  /** Extensions that optional features add to verbs. */
  readonly hooks: readonly CoreHooks[]
  readonly keyRing: KeyRing
  /** Encrypts a secret that belongs to no account (see `secretContext`). `AccountStore` encrypts account secrets. */
  seal(table: SecretTable, id: string, secret: string): Promise<SealedToken>
  open(table: SecretTable, id: string, sealed: SealedToken): Promise<string>
  /** The process's waiting reads and event streams, and their limits. */
  readonly waiting: Waiting
  /** Runs the log's followers and the duties. */
  readonly loop: Loop
  /** The state of the database's backups, as this process last saw it. */
  backups: BackupHistory
  /** The number of external servers that are paused after failures, as this process last saw it. */
  readonly outbound: { pausedServers: number }
  readonly storage: Pick<DiskSpace, 'problem' | 'check'>
  /**
   * Commits statements as one unit, possibly for several accounts. Resolves once the unit is on disk. Fails with
   * `write_conflict` if a constraint or a precondition fails, with `storage_full`, and with `unavailable`.
   */
  write(statements: Statement[]): Promise<UnitRows>
  record(rows: ActivityEntry[], statements: Statement[]): Promise<UnitRows>
  /** `full` or `relaxed` for a local file. `remote` means that the server decides. */
  readonly durability: 'full' | 'relaxed' | 'remote'
  readonly migrated: string[]
  /** See `Database`. */
  readonly schemaVersion: number
  readonly keptFile: string | undefined
  readonly instanceId: string
  readonly presences: Presences
  /** Resolves when no unit waits, deferred or not. */
  drained(): Promise<void>
  /** Reads the database. Returns the ids of the ring's keys that differ from the keys that encrypted stored tokens. */
  wrongKeys(): Promise<string[]>
  /** The workload of this process, and the size of a local file. */
  load(): ProcessLoad
  health(): Promise<DatabaseHealth>
  /** Removes the copies of a local file that were made before migrations. Returns the removed files. */
  removePreviousFiles(): string[]
  /** Publishes the address at which this process accepts commands. Does nothing for a remote database. */
  announce(control: FileOwner['control']): void
  /** Writes the state of one commit to a new file. Fails with `storage_full`, and with `unavailable` after `close`. */
  copyTo(target: string): Promise<void>
  /** Commits queued units. Then, for a local file, checkpoints the log and releases the file. */
  close(): Promise<void>
}

export interface StoreOptions extends DatabaseOptions {
  /** Called before each statement runs, with its SQL and, for a cross-account query, the query's name. May throw. */
  inspect?: Inspect
  /** Extensions that features add to the core. */
  hooks?: readonly CoreHooks[]
}

/** Opens the store: locks the database and migrates it. Fails with `database_in_use` and with a `StartError`. */
export async function openStore(deps: Deps, options: StoreOptions = {}): Promise<Store> {
  const database = await openDatabase(deps, options)
  try {
    return buildStore(database, deps, options)
  } catch (error) {
    throw await database.abandon(error)
  }
}

function buildStore(
  database: Database,
  deps: Deps,
  { inspect, readSpace, hooks = [] }: StoreOptions,
): Store {
  const { client, storage, onStorageFault, path, lock, owner } = database
  const { migrated, schemaVersion, keptFile, epoch, keyRing } = database
  const db = new Db(path ? client : queriesOf(client), inspect)
  const keys = path === undefined ? undefined : new KeyCache()
  const global = globalTables(db, keys)
  const loop = new Loop({ pulse: () => global.pulses.read(), log: deps.log, now: deps.now })
  const queue = new WriteQueue({
    client,
    committed: () => loop.wake(),
    log: deps.log,
    now: () => performance.now(),
    local: path !== undefined,
    storage,
    inspect,
    keys,
    onStorageFault,
    metrics: deps.metrics,
  })
  const minFreeBytes = deps.config.minFreeMegabytes * 2 ** 20
  const copier = createCopier({ database, minFreeBytes, readSpace })
  const waiting = openWaiting(deps, global, loop, path !== undefined)
  const instanceId = newId()
  const tablesOf = accountTables(db)
  const presences = new Presences(deps.now)
  const live = new LiveFeed({ global, tablesOf, deps, presences, loop })
  const context: StoreContext = {
    tablesOf,
    tablesBehind: (proof) => accountTables(db.behind(proof)),
    queue,
    keyRing,
    deps,
    epoch,
    instanceId,
    waiting,
    live,
    presences,
    loop,
    hooks,
  }

  const write: Store['write'] = (statements) => queue.write('', statements)
  storeKeyCheck(keyRing, global.keyChecks, write)

  return {
    deps,
    account: accountOpener(context),
    global,
    feature: (tables) => tables(db),
    hooks,
    keyRing,
    seal(table, id, secret) {
      return this.keyRing.seal(secret, secretContext(table, id))
    },
    open(table, id, sealed) {
      return this.keyRing.open(sealed, secretContext(table, id))
    },
    waiting,
    loop,
    backups: {},
    outbound: { pausedServers: 0 },
    storage,
    write,
    record: (rows, statements) => writeWithActivity(context, rows, statements),
    durability: path ? deps.config.durability : 'remote',
    migrated,
    schemaVersion,
    keptFile,
    instanceId,
    presences,
    drained: () => queue.drained(),
    wrongKeys: async () => await wrongKeys(keyRing, await global.keyChecks.all()),
    load() {
      const { pausedServers } = this.outbound
      return { waitingUnits: queue.waiting, pausedServers, databaseBytes: path ? bytesOf(path) : undefined }
    },
    health: () => readHealth({ client, global, isLocal: path !== undefined, isServer: true, now: deps.now }, false),
    removePreviousFiles: () => path ? removePreviousFiles(path) : [],
    announce(control) {
      if (path) writeOwner(path, Object.assign(owner, { control }))
    },
    copyTo: copier.copyTo,
    async close() {
      await copier.stop()
      live.close()
      await loop.close()
      await queue.end()
      if (path) {
        await releaseLocalFile(client)
        // Must happen before the lock is released, because the file may then belong to the next owner.
        removeOwner(path)
        await lock!.release()
      } else {
        client.close()
      }
    },
  }
}
