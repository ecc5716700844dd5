/** Starts and stops a server in this process. */
import { createApp, outboxAttempts } from '../app.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Deps } from '../deps.ts'
import { coreHooks, features, openTelemetry } from '../features.ts'
import { freePort } from '../lib/free-port.ts'
import { second } from '../lib/time.ts'
import { listen, type Listener } from '../listen.ts'
import { mayBeFolder } from '../store/backup/files.ts'
import { openStore, type Store, type StoreOptions } from '../store/store.ts'
import { startWorker, type Worker } from '../worker/worker.ts'
import { CommandError } from './command.ts'
import { processDeps } from './process.ts'
import { readConfig } from './settings.ts'

/** How long a start waits for the local file. This is longer than a stopping server needs to release the file. */
const lockWaitSeconds = 20
/** How long running requests may take while the process stops. See docs/delivery.md, "Stopping". */
const requestGraceMs = 10 * second
const emailGraceMs = 3 * second

/** Reads a server's settings. Replaces port 0 with a free port, which URLs then contain. Fails with `ConfigError`. */
export async function readServerConfig(env: Record<string, string | undefined>): Promise<Config> {
  const config = readConfig(env)
  const { backupDir } = config
  if (backupDir !== undefined && !mayBeFolder(backupDir)) {
    throw new ConfigError(`BACKUP_DIR must be the path of a folder, and ${backupDir} is a file.`)
  }
  if (config.port !== 0) return config
  return readConfig({ ...env, PORT: String(await freePort(config.host)) })
}

/** The dependencies of a process that serves the grid. */
export async function serverDeps(config: Config, stopping?: AbortSignal): Promise<Deps> {
  const ports = features.flatMap(({ port }) => port?.number(config) ?? [])
  const deps = processDeps(config, { stopping, ports })
  return { ...deps, ...await openTelemetry(deps) }
}

export interface Server {
  readonly store: Store
  readonly worker: Worker
  /** All listeners that accept requests. The caller may add listeners. */
  readonly listeners: Listener[]
  /** Stops measuring the event loop's delay. */
  stopWatch(): void
}

/** Opens the database and serves the grid. Fails with `database_in_use` or `cannot_listen`. */
export async function startServer(deps: Deps, options?: StoreOptions): Promise<Server> {
  const store = await openStore(deps, { hooks: coreHooks, lockWaitSeconds, ...options })
  let worker: Worker | undefined
  try {
    // Messages leased by a dead process must become unread before the first request.
    worker = await startWorker(store, outboxAttempts(store))
    const app = createApp(store)
    const listeners = [await listenOrFail((request, connection) => app.fetch(request, connection), deps.config, deps)]
    for (const { port } of features) {
      const [number, serve] = [port?.number(deps.config), port?.serve(store)]
      if (number === undefined || !serve) continue
      listeners.push(await listenOrFail(serve, { host: deps.config.host, port: number, setting: port!.setting }, deps))
    }
    return { store, worker, listeners, stopWatch: deps.overload.watch() }
  } catch (error) {
    await worker?.stop()
    await store.close()
    throw error
  }
}

/**
 * Stops accepting requests, finishes running ones, sends queued emails, commits queued writes, and releases the
 * database.
 */
export async function stopServer({ store, worker, listeners, stopWatch }: Server): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.stop(requestGraceMs)))
  stopWatch()
  await worker.stop()
  await store.deps.email.close(emailGraceMs)
  await store.close()
  await store.deps.traces?.close()
}

async function listenOrFail(
  fetch: Parameters<typeof listen>[0],
  { port, host, setting = 'PORT' }: Pick<Config, 'port' | 'host'> & { setting?: string },
  { callerHints }: Deps,
): Promise<Listener> {
  try {
    return await listen(fetch, {
      port,
      host,
      callerOf: (request) => callerHints.callerOf(request),
    })
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string }
    // Deno sets the reason as the error's name, the other runtimes as its code.
    const reason = reasons[code ?? ''] ?? reasons[name ?? ''] ?? 'The system refused. Set HOST and PORT.'
    throw new CommandError('cannot_listen', `Cannot listen on ${host}:${port}. ${reason.replaceAll('PORT', setting)}`)
  }
}

const portInUse = 'Another program listens there. Stop it, or set PORT to another port.'
const notPermitted = 'This user may not listen there. Ports below 1024 need more rights. Set PORT to a higher port.'
const unknownAddress = 'This machine does not have that address. Set HOST to one of its addresses, or to 0.0.0.0.'

const reasons: Record<string, string> = {
  EADDRINUSE: portInUse,
  AddrInUse: portInUse,
  EACCES: notPermitted,
  PermissionDenied: notPermitted,
  EADDRNOTAVAIL: unknownAddress,
  AddrNotAvailable: unknownAddress,
}
