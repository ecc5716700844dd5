/** Grid processes behind one proxy on this machine: several on one libsql-server, or one on a local file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../src/lib/free-port.ts'
import { makeKeyRing, readStoredKeyRing } from '../../src/store/driver/local-file.ts'
import { binaryFile } from '../../test/support/binary.ts'
import type { Runner } from '../../test/support/process.ts'
import { runtimeCommand } from '../runtime.ts'
import { type LibsqlServer, startLibsqlServer } from './libsql-server.ts'
import { type RoundRobin, startRoundRobin } from './round-robin.ts'

export interface ClusterOptions {
  /** The folder for data, keys and logs. */
  folder: string
  /** The runtime of each instance. At most 4 instances on one libsql-server. */
  runtimes: readonly Runner[]
  /** The port of the proxy. 0 means any free port. */
  port: number
  /** Whether to use a local file instead of libsql-server. Allows only one instance. */
  isLocalFile?: boolean
  /** Additional settings for every instance. */
  env?: Record<string, string | undefined>
  /** Called with the settings of the instances before they start. */
  prepare?(settings: Record<string, string | undefined>): Promise<void>
  /** Called with a message when a process exits or fails to start. */
  onEvent?(text: string): void
  /** Starts the processes in their own groups, so that Ctrl-C in the terminal reaches only this process. */
  detached?: boolean
}

export interface Cluster {
  url: string
  /** The value for `DATABASE_URL`. */
  databaseUrl: string
  instances: readonly Instance[]
  proxy: RoundRobin
  /** Kills libsql-server with SIGKILL, if it is used. Restarts it after `downMs`. */
  killDatabase(downMs: number): void
  /** Stops the instances with SIGTERM, then libsql-server, so that accepted writes are committed. */
  stop(): Promise<void>
}

interface Instance {
  name: string
  runtime: Runner
  port: number
  /** The path of its log file. */
  log: string
  pid(): number | undefined
  /** Kills the instance with SIGKILL. Restarts it after `downMs`. Does nothing while the instance is down. */
  kill(downMs: number): void
}

/** Delay before a process that exited by itself is restarted. */
const restartMs = 500
/** Time limit of a start. Long enough for several first starts on a busy machine. */
const startTimeoutMs = 60_000

/**
 * Starts the database, the instances and the proxy, and waits until all are ready. Processes that end are restarted
 * until `stop()`. Fails if they are not ready within a minute.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { folder, runtimes, isLocalFile = false, prepare, onEvent = () => {}, detached = false } = options
  if (isLocalFile && runtimes.length !== 1) throw new Error('A local file belongs to one instance.')
  const database = isLocalFile ? undefined : await startDatabase(folder, onEvent, detached)
  const databaseUrl = database ? database.running()!.url : `file:${join(folder, 'grid.db')}`

  const ports: number[] = []
  for (const _ of runtimes) ports.push(await freePort())
  let proxy: RoundRobin | undefined
  const instances: Supervised<RunningProcess>[] = []
  async function stop(): Promise<void> {
    await Promise.all(instances.map((instance) => instance.stop('SIGTERM')))
    await proxy?.stop()
    await database?.stop('SIGTERM')
  }

  try {
    proxy = await startRoundRobin({ port: options.port, instances: ports })
    const url = `http://localhost:${proxy.port}`
    const shared = {
      ...sharedSettings(databaseUrl, url, readStoredKeyRing(join(folder, 'grid')) ?? makeKeyRing(join(folder, 'grid'))),
      ...options.env,
    }
    await prepare?.(shared)
    const facts = runtimes.map((runtime, i) => {
      const name = `instance ${i + 1}`
      return { name, runtime, port: ports[i], log: join(folder, `instance-${i + 1}.log`) }
    })
    for (const { name, runtime, port, log } of facts) {
      const env = { ...shared, PORT: String(port) }
      instances.push(
        await supervise(name, onEvent, () => Promise.resolve(startInstance(runtime, env, log, detached))),
      )
    }
    await untilReady(proxy, facts.length, folder)
    return {
      url,
      databaseUrl,
      proxy,
      instances: facts.map((instance, i) => ({
        ...instance,
        pid: () => instances[i].running()?.pid,
        kill: (downMs) => instances[i].kill(downMs),
      })),
      killDatabase: (downMs) => database?.kill(downMs),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startDatabase(folder: string, onEvent: (text: string) => void, detached: boolean) {
  const data = join(folder, 'libsql-server')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const [port, adminPort] = [await freePort(), await freePort()]
  const log = join(folder, 'libsql-server.log')
  const start = () => startLibsqlServer({ folder: data, port, adminPort, log, detached })
  return await supervise<LibsqlServer>('libsql-server', onEvent, start)
}

/** The settings with which several processes form one grid. `compose.yaml` has the same settings. */
function sharedSettings(databaseUrl: string, url: string, keys: string): Record<string, string> {
  return { DATABASE_URL: databaseUrl, BASE_URL: url, TRUSTED_PROXIES: '127.0.0.1', GRID_KEYS: keys }
}

async function untilReady(proxy: RoundRobin, count: number, folder: string): Promise<void> {
  const until = Date.now() + startTimeoutMs
  while (await proxy.check() < count) {
    if (Date.now() > until) throw new Error(`The instances did not become ready. Their logs are in ${folder}.`)
    await sleep(50)
  }
}

interface RunningProcess {
  pid: number
  signal(name: NodeJS.Signals): void
  /** Resolves when the process has exited. */
  ended: Promise<void>
}

interface Supervised<Process extends RunningProcess> {
  running(): Process | undefined
  kill(downMs: number): void
  stop(signal: NodeJS.Signals): Promise<void>
}

/** Keeps one process running. Fails if the first start fails. */
async function supervise<Process extends RunningProcess>(
  name: string,
  onEvent: (text: string) => void,
  start: () => Promise<Process>,
): Promise<Supervised<Process>> {
  let running: Process | undefined = await start()
  let downMs = restartMs
  const stopping = new AbortController()

  async function restart(): Promise<void> {
    for (;;) {
      await running?.ended
      running = undefined
      if (stopping.signal.aborted) return
      onEvent(`${name} has ended and will be restarted`)
      await sleep(downMs, undefined, { signal: stopping.signal }).catch(() => {})
      downMs = restartMs
      if (stopping.signal.aborted) return
      running = await start().catch((error) => {
        onEvent(`${name} did not start: ${(error as Error).message}`)
        return undefined
      })
    }
  }
  const stopped = restart()
  return {
    running: () => running,
    kill(ms) {
      if (!running) return
      downMs = ms
      running.signal('SIGKILL')
    },
    async stop(signal) {
      stopping.abort()
      running?.signal(signal)
      await stopped
    },
  }
}

function startInstance(
  runtime: Runner,
  env: Record<string, string | undefined>,
  log: string,
  detached: boolean,
): RunningProcess {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const isBinary = runtime === 'binary'
  const [program, ...args] = isBinary ? [binaryFile] : [...runtimeCommand(runtime, env.DATABASE_URL), 'src/main.ts']
  const output = openSync(log, 'a')
  const child: ChildProcess = spawn(program, [...args, 'serve'], {
    // The binary runs in its own folder, where it cannot find this repository's packages.
    cwd: isBinary ? dirname(binaryFile) : root,
    // The environment of this process must not change an instance's settings.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, ...env },
    stdio: ['ignore', output, output],
    detached,
  })
  closeSync(output)
  const signal = (name: NodeJS.Signals) => void child.kill(name)
  const onExit = () => signal('SIGKILL')
  process.once('exit', onExit)
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => {
      process.off('exit', onExit)
      resolve()
    })
  )
  return { pid: child.pid!, signal, ended }
}
