/** The store: database connection, migrations, write queue, and access to account tables and global tables. */
import type { Client } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { migrations } from '../../db/migrations.ts'
import type { Actor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../lib/id.ts'
import { createKeyRing, isKeyRing, type KeyRing } from '../lib/key-ring.ts'
import { KeyedMutex } from '../lib/keyed-mutex.ts'
import { Repeated } from '../lib/repeated.ts'
import { second } from '../lib/time.ts'
import {
  accountOpener,
  type AccountStore,
  type ActivityEntry,
  prepareAccountTables,
  type StoreContext,
  writeWithActivity,
} from './account.ts'
import type { Statement } from './driver/binding.ts'
import { errorCode, isFull } from './driver/database-errors.ts'
import { DiskSpace, type FileSystemSpace, type Storage } from './driver/disk-space.ts'
import { connect } from './driver/local-client.ts'
import {
  createFile,
  type FileOwner,
  foldLog,
  holdsLock,
  localPath,
  lockLocalFile,
  readKeyRing,
  releaseLocalFile,
  removeOwner,
  setPragmas,
  thisProcess,
  unusedBytes,
  writeOwner,
} from './driver/local-file.ts'
import { startThread, type ThreadConnection } from './driver/thread-connection.ts'
import { openQueryBatcher, type QueryBatcher } from './driver/query-batcher.ts'
import { type GlobalTables, prepareGlobalTables } from './global.ts'
import { Lookups } from './lookups.ts'
import { migrate } from './migrate.ts'
import { type UnitRows, WriteQueue } from './queue.ts'
import { explained, explainedKeyRing, StartError } from './start-error.ts'
import { ConversationTurns } from './turns.ts'
import { inSets } from './unit-sets.ts'
import { UnreadCounts } from './unread-counts.ts'
import { UsageCounters } from './usage.ts'
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
   * Store what this process counted for the quotas and of conversations, and read what others counted; runs every second
   * by itself.
   */
  exchangeUsage(): Promise<void>
  /** Fails if the database does not answer. */
  ping(): Promise<void>
  /** Publish where this process takes commands. Does nothing on a remote database. */
  announce(control: FileOwner['control']): void
  /** Commit what is queued; for a local file, then checkpoint the log and release the file. */
  close(): Promise<void>
}

export interface StoreOptions {
  /**
   * Called with every statement before it runs; may throw (the tripwire of the tests). `crossAccountQuery` is the name
   * of a cross-account query.
   */
  inspect?: (sql: string, crossAccountQuery: string | undefined) => void
  /** Replaces the database client (fault tests). */
  connect?: typeof connect
  /**
   * Run the statements of a local file on a thread of their own if the settings ask for it. It is meant for a server:
   * starting it takes longer than what a command asks of the database.
   */
  thread?: boolean
  /** Replaces `fetch` for requests to a remote database (fault tests). */
  fetch?: typeof fetch
  /** Replaces the look at the file system of the local file (fault tests). */
  readSpace?: (folder: string) => Promise<FileSystemSpace>
  /** Called when the disk failed during a commit. The default ends the process. */
  onStorageFault?: (error: unknown) => void
}

/** How many units of one account may wait to be recorded in its activity log. */
const maxRecording = 200
/** How long a remote database may take for a request, and for a request of a migration. */
const requestTimeoutMs = 10_000
const migrationTimeoutMs = 120_000
const megabyte = 2 ** 20

/**
 * Open the database, lock it if it is a local file, and migrate it. Fails with `database_in_use` if another process
 * holds the local file, and with a `StartError`.
 */
export async function openStore(deps: Deps, options: StoreOptions = {}): Promise<Store> {
  const { config, log, now } = deps
  const path = localPath(config.databaseUrl)
  const explain = (error: unknown) => explained(error, config.databaseUrl, path)
  try {
    if (path) createFile(path)
  } catch (error) {
    throw explain(error)
  }

  const timeout = { ms: migrationTimeoutMs }
  const settings = {
    url: config.databaseUrl,
    authToken: config.databaseAuthToken,
    // One request at a time, like queries, so that concurrent sends are stored in the order of their calls.
    concurrency: 1,
    intMode: 'number' as const,
    // Only used for a remote database.
    async fetch(request: Request) {
      const { url, method, headers } = request
      // Responses are small: compressing them would cost both sides more than the rest of a query.
      headers.set('Accept-Encoding', 'identity')
      // Without a timeout, a silent server would keep callers waiting for minutes.
      const signal = AbortSignal.timeout(timeout.ms)
      // Passing the request itself on would stream its body, which takes a quarter longer.
      return await (options.fetch ?? fetch)(url, { method, headers, body: await request.text(), signal })
    },
  }
  const lookups = new Lookups(path !== undefined)
  const onStorageFault = (error: unknown) => {
    lookups.end()
    if (options.onStorageFault) options.onStorageFault(error)
    else process.exit(70)
  }
  const isThreaded = path !== undefined && options.thread && config.databaseThread === 'on'
  const thread = isThreaded ? await openThread(path, deps, onStorageFault) : undefined
  const client = (options.connect ?? connect)({ ...settings, thread })
  const queryBatcher = path ? undefined : openQueryBatcher(settings, client)
  const owner = { ...thisProcess(now()) }
  const storage = new DiskSpace({
    path,
    minFreeBytes: config.minFreeMegabytes * megabyte,
    ballastBytes: config.ballastMegabytes * megabyte,
    log,
    readSpace: options.readSpace,
    reusable: () => unusedBytes(client),
    fold: () => foldLog(client),
    async onSpace() {
      // What a start on a full disk could not do.
      if (!await setPragmas(client, config.durability)) throw new Error('The disk is full')
      writeOwner(path!, owner)
    },
  })
  try {
    if (path) {
      const lock = () => lockLocalFile(client, path, { ...config, waitSeconds: config.lockWaitSeconds, now })
      // A second time if the ballast made room for the log.
      if (!await lock() && await storage.full()) await lock()
      writeOwner(path, owner)
    }
    const migrated = await migrate(client, migrations, `The database ${path ?? new URL(config.databaseUrl).host}`)
    timeout.ms = requestTimeoutMs
    // Without statistics the planner may choose worse indexes; the server does this itself.
    if (path) await client.execute('PRAGMA optimize=0x10002').catch((error) => noteIfFull(error, storage))
    const epoch = await loadEpoch(client)
    const keyRing = createKeyRing(config.gridKeys ?? (path && checkedKeyRing(path)))
    const parts = { client, queryBatcher, storage, lookups, onStorageFault }
    return await buildStore(parts, path, migrated, { epoch, keyRing, deps }, owner, options)
  } catch (error) {
    queryBatcher?.close()
    client.close()
    if (errorCode(error)) log.error('The database could not be opened', { code: errorCode(error) })
    throw explain(error)
  }
}

/** Undefined if it cannot be started: then this thread runs the statements. */
async function openThread(
  path: string,
  { log }: Deps,
  onStorageFault: (error: unknown) => void,
): Promise<ThreadConnection | undefined> {
  try {
    return await startThread(path, (error) => {
      log.error('The database thread has ended', { error })
      onStorageFault(error)
    })
  } catch (error) {
    log.warn('The database thread could not start; statements run on the main thread', { error })
    return undefined
  }
}

async function buildStore(
  { client, queryBatcher, storage, lookups, onStorageFault }: {
    client: Client
    queryBatcher: QueryBatcher | undefined
    storage: DiskSpace
    lookups: Lookups
    onStorageFault: (error: unknown) => void
  },
  path: string | undefined,
  migrated: string[],
  { epoch, keyRing, deps }: Pick<StoreContext, 'epoch' | 'keyRing' | 'deps'>,
  owner: FileOwner,
  options: StoreOptions,
): Promise<Store> {
  const crossAccountQueries = new Map<string, string>()
  const inspect = options.inspect && ((sql: string) => options.inspect!(sql, crossAccountQueries.get(sql)))
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
  const global = prepareGlobalTables(db, crossAccountQueries, lookups)
  const waiting = openWaiting(deps, global.newDeliveries, path !== undefined)
  const instanceId = newId()
  const tablesOf = prepareAccountTables(db, crossAccountQueries, lookups)
  const exchange: Repeated = new Repeated(
    async () => (await Promise.all([usage.exchange(), unreadCounts.recount(), turns.exchange()])).includes(true),
    second,
  )
  const unreadCounts = new UnreadCounts({ tablesOf, deps, exchange })
  const usage = new UsageCounters({
    tablesOf,
    writeLater: (statements) => queue.writeLater(statements),
    deps,
    isAlone: path !== undefined,
    exchange,
  })
  const turns = new ConversationTurns({
    tablesOf,
    global: global.conversations,
    writeLater: (statements) => queue.writeLater(statements),
    deps,
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
    usage,
    unreadCounts,
    turns,
  }
  await turns.load()

  return {
    deps,
    account: accountOpener(context),
    global,
    keyRing,
    waiting,
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
    announce(control) {
      if (path) writeOwner(path, Object.assign(owner, { control }))
    },
    async close() {
      await waiting.close()
      exchange.close()
      usage.close()
      turns.close()
      await queue.end()
      lookups.end()
      if (path) {
        // Before the lock is released: afterwards the file may belong to the next owner.
        removeOwner(path)
        await releaseLocalFile(client).catch(() => {})
      }
      queryBatcher?.close()
      client.close()
    },
  }
}

/** The id of this database's history. The first start makes it. */
async function loadEpoch(client: Client): Promise<string> {
  const known = await storedEpoch(client)
  if (known !== undefined) return known
  await client.execute({
    sql: "INSERT INTO store_facts (key, value) VALUES ('epoch', ?) ON CONFLICT DO NOTHING",
    args: [crypto.randomUUID().slice(0, 8)],
  })
  return (await storedEpoch(client))!
}

async function storedEpoch(client: Client): Promise<string | undefined> {
  const { rows } = await client.execute("SELECT value FROM store_facts WHERE key = 'epoch'")
  return rows.length === 0 ? undefined : String(rows[0].value)
}

function checkedKeyRing(path: string): string {
  let ring
  try {
    ring = readKeyRing(path)
  } catch (error) {
    throw explainedKeyRing(error, `${path}.keys`)
  }
  if (isKeyRing(ring)) return ring
  throw new StartError(
    'invalid_key_ring',
    `${path}.keys is not a key ring. Restore it from a backup: without it the stored tokens of other services do not open. ` +
      'If there are none, remove the file, and the next start makes a new one.',
  )
}

/** A full disk does not stop a start that only improves something. */
async function noteIfFull(error: unknown, storage: DiskSpace): Promise<void> {
  if (!isFull(error)) throw error
  await storage.full()
}
