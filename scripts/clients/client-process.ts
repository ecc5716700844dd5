/** Runs a client in isolation: without this process's environment, with its own home folder and a fake `xdg-open`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { minute } from '../../src/lib/time.ts'
import { ended, type Result } from '../run-program.ts'

/** An empty home folder for a client. */
export interface ClientHome {
  folder: string
  /** Puts a program on the client's PATH. */
  link(name: string, program: string): void
  /** Runs a command until it ends. Kills it after three minutes. */
  run(command: string, words: string[], options?: RunOptions): Promise<Result>
  /** Starts a command, with pipes. */
  start(command: string, words: string[]): ChildProcess
}

export interface RunOptions {
  env?: Record<string, string>
  /** The keys that the person types once the output matches the question `to`. */
  answer?: { to: RegExp; keys: string }
  /** The command is killed, and counts as successful, once its output matches this pattern. */
  until?: RegExp
  /** Called with all output so far whenever more arrives. */
  onOutput?(output: string): void
}

/** Creates an empty home folder. `binFolder` contains the fake `xdg-open`. */
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
    run: async (command, words, { env: extraEnv = {}, answer, until, onOutput } = {}) => {
      const child = spawn(command, words, {
        ...{ cwd: folder, env: { ...env, ...extraEnv }, timeout: 3 * minute, killSignal: 'SIGKILL' },
        stdio: [answer ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      })
      const isReached = (output: string) => until?.test(output) ?? false
      let isAnswered = false
      const result = await ended(child, (output) => {
        onOutput?.(output)
        if (answer?.to.test(output) && !isAnswered) {
          isAnswered = true
          child.stdin!.write(answer.keys)
        }
        if (isReached(output)) child.kill()
      })
      return isReached(result.output) ? { ...result, code: 0 } : result
    },
  }
}

/** A step of a newcomer, and its duration. */

export interface Step {
  what: string
  seconds: number
}

/** The steps in one table row, in order. */
export class Steps {
  readonly all: Step[] = []

  /** Runs a step. It is recorded even if it fails. */
  async take<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now()
    try {
      return await run()
    } finally {
      this.all.push({ what, seconds: (performance.now() - startedAt) / 1_000 })
    }
  }

  get seconds(): number {
    return this.all.reduce((sum, { seconds }) => sum + seconds, 0)
  }
}
