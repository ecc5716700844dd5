/** Opens the database: its client, a local file's lock and disk, and the migrations. */
import type { Client } from '@libsql/client'
import { dirname } from 'node:path'
import { migrations } from '../../db/migrations.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import type { KeyRing } from '../lib/key-ring.ts'
import { day } from '../lib/time.ts'
import { errorCode, isFull } from './driver/database-errors.ts'
import { DiskSpace, type FileSystemSpace } from './driver/disk-space.ts'
import { type FileLock, lockFile } from './driver/file-lock.ts'
import { connect } from './driver/remote-client.ts'
import {
  createFile,
  type FileOwner,
  isEmptied,
  localPath,
  releaseLocalFile,
  removeLeftCopies,
  setPragmas,
  thisProcess,
  unusedBytes,
  writeOwner,
} from './driver/local-file.ts'
import { keepPreviousFile } from './driver/previous-file.ts'
import { openPost, type Post } from './driver/remote-stream.ts'
import { openSnapshot, type Snapshot } from './driver/snapshot.ts'
import { requireSpace } from './backup/files.ts'
import { requireNoCopy, requireNoRestore } from './backup/tables.ts'
import { backups } from './global/backups.ts'
import { migrate } from './migrate.ts'
import { openKeyRing } from './open-key-ring.ts'
import { Db } from './sql.ts'
import { emptyDatabase, explained, StartError } from './start-error.ts'

export interface DatabaseOptions {
  /** How long to wait for another process to release the local file. By default, does not wait. */
  lockWaitSeconds?: number
  /** Migrates without first copying a local file or requiring a recent backup of a remote database. */
  withoutBackup?: boolean
  /** Replaces the database client (fault tests). */
  connect?: typeof connect
  /** Replaces the requests to a remote database (fault tests). */
  post?: Post
  /** Replaces the check of the local file's file system (fault tests). */
  readSpace?: (folder: string) => Promise<FileSystemSpace>
  /** Called when the disk failed during a commit. By default, the process exits. */
  onStorageFault?: (error: unknown) => void
}

export interface Database {
  client: Client
  storage: DiskSpace
  onStorageFault: (error: unknown) => void
  path: string | undefined
  /** The lock of the local file, held until the file is released. */
  lock: FileLock | undefined
  owner: FileOwner
  migrated: string[]
  /** The number of the database's migration steps. Exceeds this program's number if a newer program migrated it. */
  schemaVersion: number
  /** The copy of a local file as it was before the migration. */
  keptFile: string | undefined
  epoch: string
  keyRing: KeyRing
  /** Opens a snapshot, in which all reads see the state of one commit. */
  openSnapshot(): Promise<Snapshot>
  /** Closes the database after an error at start. Resolves to the error with an explanation for the operator. */
  abandon(error: unknown): Promise<unknown>
}

/** Timeouts of a request to a remote database, and of a request during a migration. */
export const requestTimeoutMs = 10_000
const migrationTimeoutMs = 120_000
const megabyte = 2 ** 20

/** Opens the database, locks a local file, and migrates. Fails with `database_in_use` and with a `StartError`. */
export async function openDatabase(deps: Deps, options: DatabaseOptions): Promise<Database> {
  const { config, log, now } = deps
  const path = localPath(config.databaseUrl)
  const explain = (error: unknown) => explained(error, config.databaseUrl, path)
  let lock: FileLock | undefined
  try {
    if (path) {
      requireNoRestore(path)
      lock = await lockFile(path, { waitSeconds: options.lockWaitSeconds ?? 0, now, log, stopping: deps.stopping })
      if (isEmptied(path)) throw emptyDatabase(path)
      createFile(path)
    }
  } catch (error) {
    await lock?.release()
    throw explain(error)
  }

  const timeout = { ms: migrationTimeoutMs }
  const settings = clientSettings(config, timeout, options.post)
  const onStorageFault = (error: unknown) => {
    if (options.onStorageFault) options.onStorageFault(error)
    else process.exit(70)
  }
  const client = (options.connect ?? connect)(settings)
  const owner = { ...thisProcess(now()) }
  const abandon = async (error: unknown) => {
    if (path) await releaseLocalFile(client)
    else client.close()
    await lock?.release()
    if (errorCode(error)) log.error('The database could not be opened', { code: errorCode(error) })
    return explain(error)
  }
  const storage = new DiskSpace({
    path,
    minFreeBytes: config.minFreeMegabytes * megabyte,
    log,
    readSpace: options.readSpace,
    reusable: () => unusedBytes(client),
    async onSpace() {
      if (!await setPragmas(client, config.durability)) throw new Error('The disk is full')
      writeOwner(path!, owner)
    },
  })
  try {
    if (path) {
      if (!await setPragmas(client, config.durability)) storage.full()
      writeOwner(path, owner)
      removeLeftCopies(path)
    }
    const name = databaseName(config, path)
    await requireNoCopy(client, name, now())
    let keptFile: string | undefined
    const { applied: migrated, version: schemaVersion } = await migrate(client, migrations, name, {
      async before(version) {
        if (options.withoutBackup) return
        if (!path) return await requireBackup(client, name, version, now())
        keptFile = await keepPreviousFile(
          client,
          path,
          version,
          (bytes) => requireSpace(dirname(path), bytes, config.minFreeMegabytes * megabyte, options.readSpace),
        )
        log.info('A copy of the database was made before the migration', { file: keptFile })
      },
      onStep: (step, n, steps) => log.info('Migrating the database', { step, n, steps }),
    })
    if (schemaVersion > migrations.length) {
      log.info('A newer agent-grid has migrated the database, and this one can use it', { schemaVersion })
    }
    timeout.ms = requestTimeoutMs
    // Without statistics, the planner may choose worse indexes. A server gathers them by itself.
    if (path) {
      await client.execute('PRAGMA optimize=0x10002').catch((error) => {
        // A full disk must not prevent a start, because statistics are only an optimization.
        if (!isFull(error)) throw error
        storage.full()
      })
    }
    const epoch = await loadEpoch(client)
    const keyRing = await openKeyRing(deps, path, client)
    return {
      ...{ client, storage, onStorageFault, path, lock, owner },
      ...{ migrated, schemaVersion, keptFile, epoch, keyRing, abandon },
      openSnapshot: () => openSnapshot(settings),
    }
  } catch (error) {
    throw await abandon(error)
  }
}

/** Fails with a `StartError` unless this schema was backed up in the last 24 hours. */
async function requireBackup(client: Client, name: string, version: number, now: number): Promise<void> {
  const { made } = await backups(new Db(client)).history()
  if (made?.schema === version && Math.abs(now - made.at) < day) return
  throw new StartError(
    'backup_needed',
    `${name} has to be migrated from schema ${version} to ${migrations.length}, and has no backup of this schema from the ` +
      'last 24 hours. Run "agent-grid backup FILE", and start again. If it is backed up in another way, run "agent-grid ' +
      'migrate --backed-up".',
  )
}

/** The client's configuration. A request to a remote database may take up to the current `timeout`. */
export function clientSettings(
  { databaseUrl, databaseAuthToken }: Config,
  timeout: { ms: number },
  post = openPost(timeout),
) {
  return {
    url: databaseUrl,
    authToken: databaseAuthToken,
    // One request at a time, so that concurrent sends are stored in call order.
    concurrency: 1,
    intMode: 'number' as const,
    post,
    async fetch(request: Request) {
      const { status, text } = await post(request.url, Object.fromEntries(request.headers), await request.text())
      return new Response(text, { status })
    },
  }
}

export function databaseName({ databaseUrl }: Pick<Config, 'databaseUrl'>, path: string | undefined): string {
  return `The database ${path ?? new URL(databaseUrl).host}`
}

/** The id of this database's history. The first start creates it. */
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
