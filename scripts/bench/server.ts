/** Processes under test: started on a free port under one of the runtimes, measured, and gone with this one. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/lib/free-port.ts'
import { type Runtime, runtimeBinary, runtimes } from '../runtime.ts'

export { type Runtime, runtimes }

export interface Server {
  readonly port: number
  /** Processor time of the process so far, all its threads. */
  cpuMs(): number
  /** What it printed last, if it has ended. */
  lastWords(): string
  stop(): Promise<void>
}

const commands: Record<Runtime, () => string[]> = {
  node: () => [process.execPath, '--import', 'tsx'],
  deno: () => [runtimeBinary('deno'), 'run', '--no-prompt', '--unstable-no-legacy-abort', '--allow-all'],
  bun: () => [runtimeBinary('bun')],
}

const children = new Set<ChildProcess>()
const cleanups: (() => unknown)[] = []
// The last net, for whatever way this process ends; only synchronous work is done there.
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)))
}

/** Do `cleanup` when the bench ends, also when it is interrupted. */
export function atEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** End every server and remove every folder. */
export async function cleanUp(): Promise<void> {
  const ended = [...children].map((child) => new Promise((done) => child.once('exit', done)))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(ended)
  for (const cleanup of cleanups.splice(0)) await cleanup()
}

/** A folder that is removed at the end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-bench-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Start a script of ours, which listens on `PORT`, and wait until it answers. */
export async function startScript(
  runtime: Runtime,
  script: string[],
  env: Record<string, string> = {},
): Promise<Server> {
  const port = await freePort()
  return await start([...commands[runtime](), ...script], port, '/healthz', { ...env, PORT: String(port) })
}

/** Start a program and wait until `path` answers with 200. */
export async function start(
  [program, ...args]: string[],
  port: number,
  path: string,
  env: Record<string, string> = {},
): Promise<Server> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // The deno of npm finds its cache by HOME; nothing else of ours must reach the server's settings.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, ...env },
  })
  children.add(child)
  const ended = new Promise<void>((done) =>
    child.once('exit', () => {
      children.delete(child)
      done()
    })
  )
  let printed = ''
  child.stderr.on('data', (text) => printed = (printed + text).slice(-4_000))

  const until = Date.now() + 30_000
  while (!(await answers(`http://127.0.0.1:${port}${path}`))) {
    if (child.exitCode !== null || Date.now() > until) {
      throw new Error(`${[program, ...args].join(' ')} did not start:\n${printed}`)
    }
    await sleep(50)
  }
  return {
    port,
    cpuMs: () => cpuMs(child.pid!),
    lastWords: () => child.exitCode === null && child.signalCode === null ? '' : `The server has ended. ${printed}`,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await ended
      clearTimeout(late)
    },
  }
}

/** What a runtime says about its version. */
export function versionOf(runtime: Runtime): string {
  const text = execFileSync(commands[runtime]()[0], ['--version'], { encoding: 'utf8' })
  return text.split('\n')[0].replace(/^(deno )?v?/, '').split(' ')[0]
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

/** From the kernel's own account of the process; NaN where there is none to read. */
function cpuMs(pid: number): number {
  if (process.platform !== 'linux') return NaN
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13).map(Number)
  return (user + system) * msPerTick
}

const msPerTick = 10
