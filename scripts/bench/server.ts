/** Processes under test: started on a free port under one of the runtimes, measured, and gone with this one. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/lib/free-port.ts'
import { build } from '../build.js'
import { commandLine, type Runtime, runtimeBinary, runtimes } from '../runtime.ts'

export { type Runtime, runtimes }

export interface Server {
  readonly port: number
  /** From the start of its process to its first good answer. */
  readonly startedInMs: number
  /** Processor time so far, all its threads and all processes that it started. */
  cpuMs(): number
  /** What it holds in memory, in KiB. */
  residentKiB(): number
  /** How many files and sockets it may have open. */
  maxDescriptors(): number
  /** What it printed last, if it has ended. */
  lastWords(): string
  stop(): Promise<void>
}

const commands: Record<Runtime, () => string[]> = {
  node: () => commandLine('node'),
  deno: () => [runtimeBinary('deno'), 'run', '--no-prompt', '--unstable-no-legacy-abort', '--allow-all'],
  bun: () => commandLine('bun'),
}

/** Nothing else of ours must reach the settings of the service. The deno of npm finds its cache by HOME. */
export const bareEnv = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR }

const children = new Set<ChildProcess>()
const cleanups: (() => unknown)[] = []
// The last net, for whatever way this process ends; only synchronous work is done there.
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)))
}

/** End `child` when the bench ends, also when it is interrupted. */
export function endWithBench(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
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
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

/** Start a script of ours, which listens on `PORT`, as users start the grid, and wait until `path` answers with 200. */
export async function startScript(
  runtime: Runtime,
  script: string[],
  env: Record<string, string> = {},
  path = '/healthz',
): Promise<Server> {
  // No figure is of a start that builds first.
  if (runtime === 'node') await build(script[0])
  const port = await freePort()
  const isReady = () => fetch(`http://127.0.0.1:${port}${path}`).then((answer) => answer.ok, () => false)
  return await start([...commands[runtime](), ...script], { port, isReady, env: { ...env, PORT: String(port) } })
}

export interface Start {
  port: number
  /** Asked again and again. */
  isReady(): Promise<boolean>
  env?: Record<string, string>
  /** Whose process it is to be, where it is not ours. */
  user?: { uid: number; gid: number }
}

/** Start a program and wait until it is ready. */
export async function start([program, ...args]: string[], { port, isReady, env, user }: Start): Promise<Server> {
  const startedAt = performance.now()
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...bareEnv, ...env },
    ...user,
  })
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  endWithBench(child)
  let printed = ''
  child.stderr.on('data', (text) => printed = (printed + text).slice(-4_000))

  while (!(await isReady())) {
    if (child.exitCode !== null || performance.now() - startedAt > 30_000) {
      throw new Error(`${[program, ...args].join(' ')} did not start:\n${printed}`)
    }
    await sleep(10)
  }
  return {
    port,
    startedInMs: performance.now() - startedAt,
    cpuMs: () => cpuMs(child.pid!),
    residentKiB: () => Number(/^VmRSS:\s+(\d+)/m.exec(kernelFile(child.pid!, 'status') ?? '')?.[1] ?? NaN),
    maxDescriptors: () =>
      Number(/^Max open files\s+(\d+)/m.exec(kernelFile(child.pid!, 'limits') ?? '')?.[1] ?? Infinity),
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

/** Of a process and its descendants; NaN where the kernel keeps no such account. */
function cpuMs(pid: number): number {
  const stat = kernelFile(pid, 'stat')
  if (stat === undefined) return NaN
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Its own, and that of children which have ended.
  const ticks = fields.slice(11, 15).map(Number).reduce((sum, each) => sum + each)
  const living = kernelFile(pid, `task/${pid}/children`)?.trim().split(' ').filter(Boolean).map(Number) ?? []
  return ticks * msPerTick + living.map(cpuMs).reduce((sum, each) => sum + (each || 0), 0)
}

function kernelFile(pid: number, name: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    // The process has ended meanwhile.
    return undefined
  }
}

const msPerTick = 10
