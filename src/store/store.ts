/** The store: connection, migrations, write queue, and the doors to account and global tables. */
import type { Client, InStatement } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { migrations } from '../../db/migrations.ts'
import type { Actor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../lib/id.ts'
import { createKeyRing } from '../lib/key-ring.ts'
import { Turns } from '../lib/keyed-mutex.ts'
import { type AccountStore, type LogRow, openAccount, prepareAccountTables, recordIn, type Shared } from './account.ts'
import type { Statement } from './driver/binding.ts'
import { connect } from './driver/local-client.ts'
import { errorCode } from './driver/database-errors.ts'
import { type GlobalTables, prepareGlobalTables } from './global.ts'
import {
  holdsLock,
  localPath,
  makeFile,
  type Owner,
  readKeys,
  releaseLocalFile,
  removeOwner,
  takeLocalFile,
  thisProcess,
  writeOwner,
} from './driver/local-file.ts'
import { migrate } from './migrate.ts'
import { openQuestions, type Questions } from './driver/query-batcher.ts'
import { type UnitRows, WriteQueue } from './queue.ts'
import { openWaiting, type Waiting } from './waiting.ts'

export interface Store {
  readonly deps: Deps
  /** The door to one account's tables, for one caller. */
  account(accountId: string, actor: Actor): AccountStore
  /** Reads and changes of what belongs to no account. */
  readonly global: GlobalTables
  /** Who waits in this process, and how many may. */
  readonly waiting: Waiting
  /** Commit statements of any account as one unit. Also for what spans accounts. */
  write(statements: Statement[]): Promise<UnitRows>
  /** `write`, with a row in the activity log of each of these accounts in the same unit: all is stored, or nothing. */
  record(rows: LogRow[], statements: Statement[]): Promise<void>
  /** `full` or `relaxed` for a local file, otherwise `remote`: then the server decides. */
  readonly durability: 'full' | 'relaxed' | 'remote'
  /** Names of the migrations this start applied. */
  readonly migrated: string[]
  /** Number of the schema, which a start brings to the newest. */
  readonly schemaVersion: number
  /** Names this opening of the database, and so this process. */
  readonly instanceId: string
  /** Fails when the database does not answer. */
  ping(): Promise<void>
  /** Tell other processes where this one takes commands. Nothing happens on a remote database. */
  announce(control: Owner['control']): void
  /** Commit what waits, fold the log into the file and release it. */
  close(): Promise<void>
}

export interface StoreOptions {
  /**
   * Sees every statement before it runs and may throw (the tests' tripwire).
   * `crossing` names the look-up when it is one of those that must cross accounts.
   */
  inspect?: (sql: string, crossing: string | undefined) => void
  /** Replaces the database client (fault tests). */
  connect?: typeof connect
  /** Replaces what carries requests to a remote database (fault tests). */
  fetch?: typeof fetch
  /** The disk failed under a commit; the default ends the process. */
  onStorageFault?: (error: unknown) => void
}

/** How many changes of one account may wait for their place in its activity log. */
const maxRecording = 200
/** How long a remote database may take for one request, and for one step of a migration. */
const requestTimeoutMs = 10_000
const migrationTimeoutMs = 120_000

/**
 * Open the database, take it, and bring its schema up to date.
 * Fails with `database_in_use` when another process holds the local file.
 */
export async function openStore(deps: Deps, options: StoreOptions = {}): Promise<Store> {
  const { config, log, now } = deps
  const path = localPath(config.databaseUrl)
  if (path) makeFile(path)

  const patience = { ms: migrationTimeoutMs }
  const settings = {
    url: config.databaseUrl,
    authToken: config.databaseAuthToken,
    // One at a time, as questions are asked: sends of one moment are stored in the order they were made.
    concurrency: 1,
    intMode: 'number' as const,
    // Only a remote database is asked so.
    async fetch(request: Request) {
      const { url, method, headers } = request
      // Answers are small: to pack and unpack them costs both sides more than all else of a question.
      headers.set('Accept-Encoding', 'identity')
      // Without a limit a silent server would hold its callers for minutes.
      const signal = AbortSignal.timeout(patience.ms)
      // A request that is handed on becomes a stream, which costs a quarter more.
      return await (options.fetch ?? fetch)(url, { method, headers, body: await request.text(), signal })
    },
  }
  const client = (options.connect ?? connect)(settings)
  const questions = path ? undefined : openQuestions(settings, client)
  try {
    if (path) {
      await takeLocalFile(client, path, { durability: config.durability, waitSeconds: config.lockWaitSeconds, now })
      writeOwner(path, thisProcess(now()))
    }
    const migrated = await migrate(client)
    patience.ms = requestTimeoutMs
    // Without statistics the planner may choose worse indexes; the server does this itself.
    if (path) await client.execute('PRAGMA optimize=0x10002')
    const epoch = await readEpoch(client)
    const keyRing = createKeyRing(config.gridKeys ?? (path && readKeys(path)))
    return assemble({ client, questions }, path, migrated, { epoch, keyRing, deps }, options)
  } catch (error) {
    questions?.close()
    client.close()
    if (errorCode(error)) log.error('The database could not be opened', { code: errorCode(error) })
    throw error
  }
}

function assemble(
  { client, questions }: { client: Client; questions: Questions | undefined },
  path: string | undefined,
  migrated: string[],
  { epoch, keyRing, deps }: Pick<Shared, 'epoch' | 'keyRing' | 'deps'>,
  options: StoreOptions,
): Store {
  const crossings = new Map<string, string>()
  const inspect = (sql: string) => options.inspect?.(sql, crossings.get(sql))
  const db = drizzle({ client: reader(questions ?? client), logger: { logQuery: inspect } })
  const onStorageFault = options.onStorageFault ?? (() => process.exit(70))
  const queue = new WriteQueue({
    client,
    log: deps.log,
    now: deps.now,
    local: path !== undefined,
    inspect,
    onStorageFault,
    async checkConnection() {
      // The driver drops a connection it cannot roll back; the next one would have no lock and no pragmas.
      if (path && !(await holdsLock(client))) throw new Error('The lock on the database file is gone')
    },
  })
  const global = prepareGlobalTables(db, crossings)
  const waiting = openWaiting(deps, global.arrivals, path !== undefined)
  const instanceId = newId()
  const shared: Shared = {
    tablesOf: prepareAccountTables(db, crossings),
    queue,
    turns: new Turns(maxRecording),
    keyRing,
    deps,
    epoch,
    instanceId,
    waiting,
  }

  return {
    deps,
    account: (accountId, actor) => openAccount(shared, accountId, actor),
    global,
    waiting,
    write: (statements) => queue.write('', statements),
    record: (rows, statements) => recordIn(shared, rows, statements),
    durability: path ? deps.config.durability : 'remote',
    migrated,
    schemaVersion: migrations.length,
    instanceId,
    async ping() {
      await client.execute('SELECT 1')
    },
    announce(control) {
      if (path) writeOwner(path, { ...thisProcess(deps.now()), control })
    },
    async close() {
      await waiting.close()
      await queue.end()
      if (path) {
        // First, so that it is not the next owner's.
        removeOwner(path)
        await releaseLocalFile(client).catch(() => {})
      }
      questions?.close()
      client.close()
    },
  }
}

/** Reads, the only thing drizzle runs itself. */
function reader(database: Client | Questions): Client {
  const execute = (statement: InStatement) => database.execute(statement)
  return { execute } as Client
}

/** The name of this database's history, made at the first start. */
async function readEpoch(client: Client): Promise<string> {
  await client.execute({
    sql: "INSERT INTO store_facts (key, value) VALUES ('epoch', ?) ON CONFLICT DO NOTHING",
    args: [crypto.randomUUID().slice(0, 8)],
  })
  const { rows } = await client.execute("SELECT value FROM store_facts WHERE key = 'epoch'")
  return String(rows[0].value)
}
