/** Real processes of agent-grid on each runtime. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, vi } from 'vitest'
import { commandLine, type Runtime, runtimes } from '../../scripts/runtime.ts'

// For a file that runs by itself. A process takes a second to start, and several on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(endStarted)

const started = new Set<ChildProcess>()

/** End every process of the tests so far: one that fails does not come to stopping what it started. */
export function endStarted(): void {
  for (const child of started) child.kill('SIGKILL')
  started.clear()
}

export { type Runtime, runtimes }

/** A folder for one test's files, and a database in it. */
export interface Place {
  folder: string
  /** For `DATABASE_URL`. */
  url: string
  remove(): void
}

/** What a process said and how it ended. */
export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** A running `agent-grid serve`. */
export interface ServerProcess {
  /** Where it listens. */
  url: string
  port: number
  stdout(): string
  stderr(): string
  signal(name: NodeJS.Signals): void
  /** Resolves when the process has ended, by itself or by a signal. */
  ended: Promise<Ended>
  /** SIGTERM, and wait. */
  stop(): Promise<Ended>
}

/** An empty temporary folder. */
export function temporaryPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-process-'))
  return {
    folder,
    url: `file:${join(folder, 'grid.db')}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Run one command line to its end. */
export function runCommand(runtime: Runtime, words: string[], env: Record<string, string>): Promise<Ended> {
  return runScript(runtime, 'src/main.ts', words, env)
}

/** Run another program, by its path in the repository. `heard` gets what it has printed, whenever there is more. */
export function runScript(
  runtime: Runtime,
  script: string,
  words: string[],
  env: Record<string, string> = {},
  heard: (stdout: string) => void = () => {},
): Promise<Ended> {
  const child = start(runtime, script, words, env)
  const { said, ended } = watch(child)
  child.stdout!.on('data', () => heard(said().stdout))
  return ended
}

/** Start `agent-grid serve` on a free port and wait until it says where. Fails with what it said when it ends instead. */
export async function startServe(
  runtime: Runtime,
  env: Record<string, string>,
  options: string[] = [],
): Promise<ServerProcess> {
  return await listening(start(runtime, 'src/main.ts', ['serve', ...options], { PORT: '0', ...env }))
}

/** Start another program that serves the grid and says where, as `agent-grid serve` does, on Node. */
export async function startProgram(
  script: string,
  words: string[],
  env: Record<string, string>,
): Promise<ServerProcess> {
  return await listening(start('node', script, words, { PORT: '0', ...env }))
}

async function listening(child: ChildProcess): Promise<ServerProcess> {
  const { said, ended } = watch(child)
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout!.on('data', () => {
      const found = said().stdout.match(/http:\/\/[\w.]+:(\d+)["\n]/)?.[1]
      if (found) resolve(Number(found))
    })
    ended.then(({ code, stderr }) => reject(new Error(`agent-grid serve ended with ${code}: ${stderr}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    stdout: () => said().stdout,
    stderr: () => said().stderr,
    signal: (name) => child.kill(name),
    ended,
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

function start(runtime: Runtime, script: string, words: string[], env: Record<string, string>): ChildProcess {
  const [program, ...args] = commandLine(runtime, env.DATABASE_URL)
  const child = spawn(program, [...args, script, ...words], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    // Nothing of our own environment decides what the process does.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir(), LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.add(child)
  return child
}

function watch(child: ChildProcess): { said(): { stdout: string; stderr: string }; ended: Promise<Ended> } {
  let stdout = ''
  let stderr = ''
  child.stdout!.setEncoding('utf8').on('data', (text) => stdout += text)
  child.stderr!.setEncoding('utf8').on('data', (text) => stderr += text)
  const said = () => ({ stdout, stderr })
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...said() })))
  return { said, ended }
}
