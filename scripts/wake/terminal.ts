/** Terminals in which real clients run: windows of an own tmux server. */
import { execFileSync, spawnSync } from 'node:child_process'
import process from 'node:process'
import { waitFor } from '../../test/support/wait-for.ts'

/** A terminal with one program. */
export interface Terminal {
  /** What is on the screen. */
  screen(): string
  /** Type text, without a line end. */
  type(text: string): void
  /** Press a key, such as `Enter` or `C-c`. */
  press(...keys: string[]): void
  /** Resolves when the screen shows it. */
  shows(pattern: RegExp): Promise<void>
  /** The process id of the program. */
  pid: number
  /** Whether the program runs. */
  isOpen(): boolean
  /** Close the terminal, as a person closes a window. */
  close(): void
}

const server = `agent-grid-wake-${process.pid}`

/** Start a program in a terminal of its own. `env` is its whole environment. */
export function openTerminal(
  name: string,
  command: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Terminal {
  const words = ['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...command]
  const line = `exec ${words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}`
  tmux('new-session', '-d', '-s', name, '-x', '160', '-y', '50', '-c', cwd, line)
  // The equals sign keeps tmux from taking a name that only begins so.
  const target = `=${name}:`
  const screen = () => isOpen() ? tmux('capture-pane', '-p', '-t', target) : ''
  const isOpen = () => spawnSync('tmux', ['-L', server, 'has-session', '-t', `=${name}`]).status === 0
  return {
    screen,
    isOpen,
    type: (text) => void tmux('send-keys', '-t', target, '-l', text),
    press: (...keys) => void tmux('send-keys', '-t', target, ...keys),
    async shows(pattern) {
      try {
        await waitFor(`${pattern} in the terminal of ${name}`, () => pattern.test(screen()))
      } catch (error) {
        throw new Error(`${(error as Error).message}. It shows:\n${screen()}`)
      }
    },
    pid: Number(tmux('display-message', '-p', '-t', target, '#{pane_pid}').trim()),
    close: () => void spawnSync('tmux', ['-L', server, 'kill-session', '-t', `=${name}`]),
  }
}

/** Close all terminals. */
export function closeTerminals(): void {
  spawnSync('tmux', ['-L', server, 'kill-server'])
}

function tmux(...words: string[]): string {
  return execFileSync('tmux', ['-L', server, ...words], { encoding: 'utf8' })
}
