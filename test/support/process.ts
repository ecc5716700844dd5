/** agent-grid processes on each runtime. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, vi } from 'vitest'
import { type Runtime, runtimeCommand, runtimes } from '../../scripts/runtime.ts'
import { binaryFile } from './binary.ts'

// A process usually takes a second to start, and several seconds on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(endStarted)

const started = new Set<ChildProcess>()

/** Kills all processes that tests started, because a failed test does not stop its own. */
export function endStarted(): void {
  for (const child of started) child.kill('SIGKILL')
  started.clear()
}

export { type Runtime, runtimes }

/** What runs the command line: a runtime, or the single binary that `buildBinary` builds. */
export type Runner = Runtime | 'binary'

/** A temporary folder for the files of one test, with a database. */
export interface TemporaryDatabase {
  folder: string
  /** For `DATABASE_URL`. */
  url: string
  remove(): void
}

/** A process's output and exit code. */
export interface ProcessResult {
  code: number | null
  stdout: string
  stderr: string
}

/** A running `agent-grid serve`. */
export interface ServerProcess {
  /** The server's address. */
  url: string
  port: number
  pid: number
  stdout(): string
  stderr(): string
  signal(name: NodeJS.Signals): void
  /** Resolves when the process has exited. */
  ended: Promise<ProcessResult>
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<ProcessResult>
}

/** Creates a temporary folder. The database in it does not exist yet. */
export function temporaryDatabase(): TemporaryDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-process-'))
  return {
    folder,
    url: `file:${join(folder, 'grid.db')}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Runs an agent-grid command to completion. */
export function runCommand(runner: Runner, words: string[], env: Record<string, string>): Promise<ProcessResult> {
  return watch(startCommand(runner, words, env)).ended
}

/** Starts an agent-grid command that may be killed before it exits. */
export function beginCommand(
  runner: Runner,
  words: string[],
  env: Record<string, string>,
): { kill(): void; ended: Promise<ProcessResult> } {
  const child = startCommand(runner, words, env)
  return { kill: () => void child.kill('SIGKILL'), ended: watch(child).ended }
}

/** Runs another program by its path in the repository. `onOutput` receives all output so far whenever more arrives. */
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

/**
 * Starts `agent-grid serve` on a free port and waits until it prints its address. Fails with its output if it exits.
 */
export async function startServe(
  runner: Runner,
  env: Record<string, string>,
  options: string[] = [],
): Promise<ServerProcess> {
  return await listening(startCommand(runner, ['serve', ...options], { PORT: '0', ...env }))
}

/**
 * Starts another program that serves the grid and prints its address like `agent-grid serve`. Runs on Node by default.
 */
export async function startProgram(
  script: string,
  words: string[],
  env: Record<string, string>,
  runtime: Runtime = 'node',
): Promise<ServerProcess> {
  return await listening(start(runtime, script, words, { PORT: '0', ...env }))
}

/** Starts `agent-grid serve` on Node, from a copy of this repository. */
export async function startServeOf(copy: string, env: Record<string, string>): Promise<ServerProcess> {
  return await listening(startIn(copy, nodeOf(copy, 'src/main.ts', ['serve']), { PORT: '0', ...env }))
}

/** Runs a program from a copy of this repository on Node. */
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

/** Starts an agent-grid command. The binary runs in its own folder, where it cannot access the packages. */
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
    // The process does not inherit the tests' environment, whose variables would configure it.
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir() },
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
