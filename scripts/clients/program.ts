/** Running one client alone: nothing of our environment, a home of its own, and our `xdg-open`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { minute } from '../../src/lib/time.ts'

export interface Ran {
  code: number | null
  /** Both streams. */
  said: string
}

/** A place in which a client has never run. */
export interface Home {
  folder: string
  /** Run a command to its end; it is killed after a minute. `heard` gets what it has said, whenever there is more. */
  run(command: string, words: string[], options?: RunOptions): Promise<Ran>
  /** Start one, with pipes. */
  start(command: string, words: string[]): ChildProcess
}

export interface RunOptions {
  env?: Record<string, string>
  heard?(said: string): void
}

/** `opens` is the folder with our `xdg-open`. */
export function homeAt(folder: string, opens: string): Home {
  mkdirSync(folder, { recursive: true })
  const env = {
    PATH: [opens, dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    HOME: folder,
    BROWSER: join(opens, 'xdg-open'),
    // Clients try no browser where there is no screen.
    DISPLAY: ':99',
    TERM: 'xterm',
  }
  const start: Home['start'] = (command, words) =>
    spawn(command, words, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] })
  return {
    folder,
    start,
    run: (command, words, { env: more = {}, heard = () => {} } = {}) => {
      const child = spawn(command, words, { cwd: folder, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] })
      const timer = setTimeout(() => child.kill('SIGKILL'), minute)
      let said = ''
      for (const stream of [child.stdout!, child.stderr!]) {
        stream.setEncoding('utf8').on('data', (text) => heard(said += text))
      }
      return new Promise((resolve, reject) => {
        child.once('error', reject)
        child.once('close', (code) => {
          clearTimeout(timer)
          resolve({ code, said })
        })
      })
    },
  }
}
