/** Runs a client in isolation: without our environment, with its own home folder and our `xdg-open`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { minute } from '../../src/lib/time.ts'

export interface ProcessOutput {
  code: number | null
  /** Standard output and standard error. */
  output: string
}

/** An empty home folder for a client. */
export interface ClientHome {
  folder: string
  /** Put a program on the PATH of the client. */
  link(name: string, program: string): void
  /** Run a command until it ends; it is killed after three minutes. */
  run(command: string, words: string[], options?: RunOptions): Promise<ProcessOutput>
  /** Start a command, with pipes. */
  start(command: string, words: string[]): ChildProcess
}

export interface RunOptions {
  env?: Record<string, string>
  /** Called with all output so far, whenever there is more. */
  onOutput?(output: string): void
}

/** `binFolder` contains our `xdg-open`. */
export function createClientHome(folder: string, binFolder: string): ClientHome {
  mkdirSync(folder, { recursive: true })
  const env = {
    PATH: [binFolder, dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    HOME: folder,
    BROWSER: join(binFolder, 'xdg-open'),
    // Without a display, clients do not open a browser.
    DISPLAY: ':99',
    TERM: 'xterm',
  }
  const start: ClientHome['start'] = (command, words) =>
    spawn(command, words, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] })
  return {
    folder,
    link: (name, program) => symlinkSync(program, join(binFolder, name)),
    start,
    run: (command, words, { env: extraEnv = {}, onOutput = () => {} } = {}) => {
      const child = spawn(command, words, {
        cwd: folder,
        env: { ...env, ...extraEnv },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const timer = setTimeout(() => child.kill('SIGKILL'), 3 * minute)
      let output = ''
      for (const stream of [child.stdout!, child.stderr!]) {
        stream.setEncoding('utf8').on('data', (text) => onOutput(output += text))
      }
      return new Promise((resolve, reject) => {
        child.once('error', reject)
        child.once('close', (code) => {
          clearTimeout(timer)
          resolve({ code, output })
        })
      })
    },
  }
}
