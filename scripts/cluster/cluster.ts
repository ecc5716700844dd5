/** Several processes of the grid on one libsql-server behind one address, all on this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../src/lib/free-port.ts'
import { readKeys } from '../../src/store/driver/local-file.ts'
import { commandLine, type Runtime } from '../runtime.ts'
import { type LibsqlServer, startLibsqlServer } from './libsql-server.ts'
import { type RoundRobin, startRoundRobin } from './round-robin.ts'

export interface ClusterOptions {
  /** Data, keys and logs. */
  folder: string
  /** One instance for each, by the runtime it runs on; at most 4 on one libsql-server. */
  runtimes: readonly Runtime[]
  /** The address people use; 0 takes any free one. */
  port: number
  /** Further settings of every instance. */
  env?: Record<string, string | undefined>
  /** Told in words when something ends or is started again. */
  onEvent?(text: string): void
  detached?: boolean
}

export interface Cluster {
  url: string
  /** For `DATABASE_URL`. */
  databaseUrl: string
  instances: readonly Instance[]
  proxy: RoundRobin
  /** SIGKILL to libsql-server; it is started again after `downMs`. */
  killDatabase(downMs: number): void
  /** SIGTERM to the instances, then to libsql-server: what they took is committed. */
  stop(): Promise<void>
}

export interface Instance {
  name: string
  runtime: Runtime
  port: number
  /** Its log: what the process said. */
  log: string
  pid(): number | undefined
  /** SIGKILL; it is started again after `downMs`. Nothing happens while it is down. */
  kill(downMs: number): void
}

/** How long one that ended by itself stays down. */
const restartMs = 500
/** A first start of several at once, on a loaded machine. */
const startLimitMs = 60_000

/**
 * Start libsql-server, the instances and the proxy, and wait until all are ready. What ends is started again
 * until `stop()`. Fails when they do not become ready within a minute.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { folder, runtimes, onEvent = () => {}, detached = false } = options
  const data = join(folder, 'libsql-server')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const [port, adminPort] = [await freePort(), await freePort()]
  const database = await supervise<LibsqlServer>(
    'libsql-server',
    onEvent,
    () => startLibsqlServer({ folder: data, port, adminPort, log: join(folder, 'libsql-server.log'), detached }),
  )
  const databaseUrl = database.running()!.url

  const ports: number[] = []
  for (const _ of runtimes) ports.push(await freePort())
  let proxy: RoundRobin | undefined
  const instances: Supervised<Running>[] = []
  async function stop(): Promise<void> {
    await Promise.all(instances.map((instance) => instance.stop('SIGTERM')))
    await proxy?.stop()
    await database.stop('SIGTERM')
  }

  try {
    proxy = await startRoundRobin({ port: options.port, instances: ports })
    const url = `http://localhost:${proxy.port}`
    const shared = { ...sharedSettings(databaseUrl, url, readKeys(join(folder, 'grid'))), ...options.env }
    const about = runtimes.map((runtime, i) => {
      const name = `instance ${i + 1}`
      return { name, runtime, port: ports[i], log: join(folder, `instance-${i + 1}.log`) }
    })
    for (const { name, runtime, port, log } of about) {
      const env = { ...shared, PORT: String(port) }
      instances.push(
        await supervise(name, onEvent, () => Promise.resolve(startInstance(runtime, env, log, detached))),
      )
    }
    await untilReady(proxy, about.length, folder)
    return {
      url,
      databaseUrl,
      proxy,
      instances: about.map((facts, i) => ({
        ...facts,
        pid: () => instances[i].running()?.pid,
        kill: (downMs) => instances[i].kill(downMs),
      })),
      killDatabase: (downMs) => database.kill(downMs),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What makes processes one grid behind one address; `compose.yaml` sets the same. */
export function sharedSettings(databaseUrl: string, url: string, keys: string): Record<string, string> {
  return { DATABASE_URL: databaseUrl, BASE_URL: url, TRUSTED_PROXIES: '127.0.0.1', GRID_KEYS: keys }
}

async function untilReady(proxy: RoundRobin, count: number, folder: string): Promise<void> {
  const until = Date.now() + startLimitMs
  while (await proxy.check() < count) {
    if (Date.now() > until) throw new Error(`The instances did not become ready. Their logs are in ${folder}.`)
    await sleep(50)
  }
}

interface Running {
  pid: number
  signal(name: NodeJS.Signals): void
  ended: Promise<void>
}

interface Supervised<Process extends Running> {
  running(): Process | undefined
  kill(downMs: number): void
  stop(signal: NodeJS.Signals): Promise<void>
}

/** Keep one process running; the first start must succeed. */
async function supervise<Process extends Running>(
  name: string,
  onEvent: (text: string) => void,
  start: () => Promise<Process>,
): Promise<Supervised<Process>> {
  let running: Process | undefined = await start()
  let downMs = restartMs
  const stopping = new AbortController()

  async function keep(): Promise<void> {
    for (;;) {
      await running?.ended
      running = undefined
      if (stopping.signal.aborted) return
      onEvent(`${name} has ended and is started again`)
      await sleep(downMs, undefined, { signal: stopping.signal }).catch(() => {})
      downMs = restartMs
      if (stopping.signal.aborted) return
      running = await start().catch((error) => {
        onEvent(`${name} did not start: ${(error as Error).message}`)
        return undefined
      })
    }
  }
  const kept = keep()
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
      await kept
    },
  }
}

function startInstance(
  runtime: Runtime,
  env: Record<string, string | undefined>,
  log: string,
  detached: boolean,
): Running {
  const [program, ...args] = commandLine(runtime, env.DATABASE_URL)
  const output = openSync(log, 'a')
  const child: ChildProcess = spawn(program, [...args, 'src/main.ts', 'serve'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    // Nothing of our own environment decides what an instance does.
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
