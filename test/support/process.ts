/** Processes of agent-grid on each runtime. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, vi } from 'vitest'
import { type Runtime, runtimeCommand, runtimes } from '../../scripts/runtime.ts'
import { binaryFile } from './binary.ts'

// A process takes a second to start, and several seconds on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(endStarted)

const started = new Set<ChildProcess>()

/** Kill every process that tests started: a test that failed did not stop its own. */
export function endStarted(): void {
  for (const child of started) child.kill('SIGKILL')
  started.clear()
}

export { type Runtime, runtimes }

/** What runs the command line: a runtime, or the single binary, which `buildBinary` builds. */
export type Runner = Runtime | 'binary'

/** A temporary folder for the files of one test, with a database. */
export interface TemporaryDatabase {
  folder: string
  /** For `DATABASE_URL`. */
  url: string
  remove(): void
}

/** The output and the exit code of a process. */
export interface ProcessResult {
  code: number | null
  stdout: string
  stderr: string
}

/** A running `agent-grid serve`. */
export interface ServerProcess {
  /** Its address. */
  url: string
  port: number
  pid: number
  stdout(): string
  stderr(): string
  signal(name: NodeJS.Signals): void
  /** Resolves when the process has ended. */
  ended: Promise<ProcessResult>
  /** Send SIGTERM and wait for the end. */
  stop(): Promise<ProcessResult>
}

/** Create a temporary folder. The database in it does not exist yet. */
export function temporaryDatabase(): TemporaryDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-process-'))
  return {
    folder,
    url: `file:${join(folder, 'grid.db')}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Run a command of agent-grid to its end. */
export function runCommand(runner: Runner, words: string[], env: Record<string, string>): Promise<ProcessResult> {
  return watch(startCommand(runner, words, env)).ended
}

/** Start a command of agent-grid, which may be killed before it ends. */
export function beginCommand(
  runner: Runner,
  words: string[],
  env: Record<string, string>,
): { kill(): void; ended: Promise<ProcessResult> } {
  const child = startCommand(runner, words, env)
  return { kill: () => void child.kill('SIGKILL'), ended: watch(child).ended }
}

/** Run another program, by its path in the repository. `onOutput` gets all output so far whenever there is more. */
export function runScript(
  runtime: Runtime,
  script: string,
  words: string[],
  env: Record<string, string> = {},
  onOutput: (stdout: string) => void = () => {},
): Promise<ProcessResult> {
  const child = start(runtime, script, words, env)
  const { output, ended } = watch(child)
  child.stdout!.on('data', () => onOutput(output().stdout))
  return ended
}

/** Start `agent-grid serve` on a free port and wait until it prints its address. Fails with its output if it ends. */
export async function startServe(
  runner: Runner,
  env: Record<string, string>,
  options: string[] = [],
): Promise<ServerProcess> {
  return await listening(startCommand(runner, ['serve', ...options], { PORT: '0', ...env }))
}

/** Start another program, by default on Node, that serves the grid and prints its address as `agent-grid serve` does. */
export async function startProgram(
  script: string,
  words: string[],
  env: Record<string, string>,
  runtime: Runtime = 'node',
): Promise<ServerProcess> {
  return await listening(start(runtime, script, words, { PORT: '0', ...env }))
}

/** The same on Node, from a copy of this repository. */
export async function startServeOf(copy: string, env: Record<string, string>): Promise<ServerProcess> {
  return await listening(startIn(copy, nodeOf(copy, 'src/main.ts', ['serve']), { PORT: '0', ...env }))
}

/** Run a program of a copy of this repository on Node. */
export function runScriptOf(copy: string, script: string, words: string[], env: Record<string, string>) {
  return watch(startIn(copy, nodeOf(copy, script, words), env)).ended
}

function nodeOf(copy: string, script: string, words: string[]): string[] {
  return [process.execPath, join(copy, 'scripts/node.js'), script, ...words]
}

async function listening(child: ChildProcess): Promise<ServerProcess> {
  const { output, ended } = watch(child)
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout!.on('data', () => {
      const found = output().stdout.match(/http:\/\/[\w.]+:(\d+)["\n]/)?.[1]
      if (found) resolve(Number(found))
    })
    ended.then(({ code, stderr }) => reject(new Error(`agent-grid serve ended with ${code}: ${stderr}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    stdout: () => output().stdout,
    stderr: () => output().stderr,
    signal: (name) => child.kill(name),
    ended,
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** The binary is started in its own folder, where it cannot reach the packages. */
function startCommand(runner: Runner, words: string[], env: Record<string, string>): ChildProcess {
  if (runner !== 'binary') return start(runner, 'src/main.ts', words, env)
  return startIn(dirname(binaryFile), [binaryFile, ...words], env)
}

function start(runtime: Runtime, script: string, words: string[], env: Record<string, string>): ChildProcess {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  return startIn(root, [...runtimeCommand(runtime, env.DATABASE_URL, env.BACKUP_DIR), script, ...words], env)
}

function startIn(folder: string, [program, ...args]: string[], env: Record<string, string>): ChildProcess {
  const child = spawn(program, args, {
    cwd: folder,
    // The environment of the tests must not configure the process.
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir() },
      // Tests start many processes at once; a reserve for each would only fill the disk.
      ...{ LOG_LEVEL: 'warn', ...env },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.add(child)
  return child
}

function watch(child: ChildProcess): { output(): { stdout: string; stderr: string }; ended: Promise<ProcessResult> } {
  let stdout = ''
  let stderr = ''
  child.stdout!.setEncoding('utf8').on('data', (text) => stdout += text)
  child.stderr!.setEncoding('utf8').on('data', (text) => stderr += text)
  const output = () => ({ stdout, stderr })
  const ended = new Promise<ProcessResult>((resolve) => child.once('close', (code) => resolve({ code, ...output() })))
  return { output, ended }
}
