/** Starts the measured processes on free ports, and kills them when the bench ends. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/lib/free-port.ts'
import { build } from '../build.js'
import { type Runtime, runtimeBinary, runtimeCommand, runtimes } from '../runtime.ts'

export { type Runtime, runtimes }

export interface ServerProcess {
  readonly port: number
  /** Time from the start of the process to its first successful response. */
  readonly startedInMs: number
  /** Processor time of all the process's threads and child processes so far. */
  cpuMs(): number
  /** Bytes read so far, from files and sockets, including the system's cache. NaN if the system does not report it. */
  bytesRead(): number
  /** The process's resident memory. */
  residentKiB(): number
  /** The process's limit of open files and sockets. */
  maxDescriptors(): number
  /** Returns the end of the output once the process has exited; empty before. */
  lastOutput(): string
  stop(): Promise<void>
}

const commands: Record<Runtime, () => string[]> = {
  node: () => runtimeCommand('node'),
  deno: () => [runtimeBinary('deno'), 'run', '--no-prompt', '--allow-all'],
  bun: () => runtimeCommand('bun'),
}

/** Other variables could change the service's settings. npm's `deno` package finds its cache with HOME. */
export const minimalEnv = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR }

const children = new Set<ChildProcess>()
const cleanups: (() => unknown)[] = []
// The last resort at every kind of exit. Only synchronous code runs here.
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)))
}

/** Kills `child` when the bench ends or is interrupted. */
export function killAtBenchEnd(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

/** Calls `cleanup` when the bench ends or is interrupted. */
export function onBenchEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** Kills all servers and runs all cleanups. */
export async function cleanUp(): Promise<void> {
  const ended = [...children].map((child) => new Promise((done) => child.once('exit', done)))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(ended)
  for (const cleanup of cleanups.splice(0)) await cleanup()
}

/** Creates a folder that is removed when the bench ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-bench-'))
  onBenchEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

/** Starts a program that listens on `PORT`, as the grid does. Waits until `path` returns 200. */
export async function startScript(
  runtime: Runtime,
  script: string[],
  env: Record<string, string> = {},
  path = '/healthz',
): Promise<ServerProcess> {
  // Building first keeps the build out of the start time.
  if (runtime === 'node') await build(script[0])
  const port = await freePort()
  const isReady = () => fetch(`http://127.0.0.1:${port}${path}`).then((response) => response.ok, () => false)
  return await startProgram([...commands[runtime](), ...script], { port, isReady, env: { ...env, PORT: String(port) } })
}

export interface StartOptions {
  port: number
  /** Called repeatedly until it resolves to true. */
  isReady(): Promise<boolean>
  env?: Record<string, string>
  /** The user to run the program as; the current user by default. */
  user?: { uid: number; gid: number }
}

/** Starts a program and waits until it is ready. */
export async function startProgram(
  [program, ...args]: string[],
  { port, isReady, env, user }: StartOptions,
): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...minimalEnv, ...env },
    ...user,
  })
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  killAtBenchEnd(child)
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
    bytesRead: () => Number(/^rchar: (\d+)/m.exec(kernelFile(child.pid!, 'io') ?? '')?.[1] ?? NaN),
    residentKiB: () => Number(/^VmRSS:\s+(\d+)/m.exec(kernelFile(child.pid!, 'status') ?? '')?.[1] ?? NaN),
    maxDescriptors: () =>
      Number(/^Max open files\s+(\d+)/m.exec(kernelFile(child.pid!, 'limits') ?? '')?.[1] ?? Infinity),
    lastOutput: () => child.exitCode === null && child.signalCode === null ? '' : `The server has ended. ${printed}`,
    async stop() {
      child.kill('SIGTERM')
      const timeout = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await ended
      clearTimeout(timeout)
    },
  }
}

/** A runtime's version. */
export function versionOf(runtime: Runtime): string {
  const text = execFileSync(commands[runtime]()[0], ['--version'], { encoding: 'utf8' })
  return text.split('\n')[0].replace(/^(deno )?v?/, '').split(' ')[0]
}

/** Returns the processor time of a process and its descendants. NaN if the system does not report it. */
function cpuMs(pid: number): number {
  const stat = kernelFile(pid, 'stat')
  if (stat === undefined) return NaN
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // The process's user and system time, including its ended children.
  const ticks = fields.slice(11, 15).map(Number).reduce((sum, each) => sum + each)
  const living = kernelFile(pid, `task/${pid}/children`)?.trim().split(' ').filter(Boolean).map(Number) ?? []
  return ticks * msPerTick + living.map(cpuMs).reduce((sum, each) => sum + (each || 0), 0)
}

function kernelFile(pid: number, name: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    // The process has ended.
    return undefined
  }
}

const msPerTick = 10
