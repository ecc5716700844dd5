/** A coding client whose sessions are woken: how to install, connect and use it in a terminal. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { waitFor } from '../../test/support/wait-for.ts'
import { installPackages } from '../run-program.ts'
import type { LabAgent } from './lab-grid.ts'

export interface WakeClient {
  /** A title such as `claude 2.1.197`. */
  title: string
  /** The client's name for `connect`. */
  name: 'claude' | 'codex' | 'opencode'
  /** The npm package, with a version. */
  package: string
  /** The path of the program below `node_modules`. */
  program: string
  /** Whether a session can be woken before its first prompt. */
  wakesUnprompted: boolean
  /** Writes the state of a logged-in user and selects the model. The home folder is empty otherwise. */
  configure(place: Place): void
  env(place: Place): Record<string, string>
  /** The client's arguments in a terminal. */
  words?: string[]
  /** Opens a session in a terminal. Resolves when it accepts prompts. */
  open(terminal: Terminal, trust: 'all' | 'none', place: Place): Promise<void>
  /** Returns the arguments that run one prompt without a terminal. */
  oneShot(prompt: string): string[]
  /** The input that ends a session. */
  exit: string
  /** The input that starts a new session. */
  clear: string
}

/** A home folder with a connected client. */
export interface Place {
  home: string
  project: string
  /** The path of the coding client's program. */
  program: string
  agent: LabAgent
  grid: string
  /** The base URL of the model, without `/v1`. */
  model: string
  /** The number of keys pressed until the client was connected and its sessions accepted prompts. */
  keys: number
}

/** Returns the environment of all programs in a place. */
export function placeEnv({ home }: Place, wakesAMinute = 10_000): Record<string, string> {
  return {
    ...{ HOME: home, PATH: process.env.PATH!, TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/bash' },
    AGENT_GRID_WAKES_PER_MINUTE: String(wakesAMinute),
    AGENT_GRID_WAKES_PER_HOUR: String(wakesAMinute),
  }
}

/** Installs a client with npm unless it is present. Returns the path of its program. */
export function install({ package: name, program }: WakeClient, folder: string): string {
  installPackages(folder, [name])
  return join(folder, 'node_modules', program)
}

/** Connects a client in a terminal as its user does, and answers every question with yes. */
export async function connect(
  { name }: WakeClient,
  place: Place,
  clientProgram: string,
  wake: 'auto' | 'off',
): Promise<void> {
  const words = ['connect', name, '--url', place.grid, '--as', place.agent.alias, '--wake', wake]
  const env = { ...placeEnv(place), AGENT_GRID_KEY: place.agent.key }
  const terminal = openTerminal(`connect-${place.agent.alias.slice(1)}`, [process.execPath, clientProgram, ...words], {
    cwd: place.project,
    env,
  })
  for (let shown = '';;) {
    const isNew = (screen: string) => screen !== shown && /\[y\/N\]\s*$/.test(screen)
    await waitFor(`a question of connect ${name}`, () => !terminal.isOpen() || isNew(terminal.screen()))
    if (!terminal.isOpen()) break
    shown = terminal.screen()
    terminal.type('y')
    terminal.press('Enter')
  }
  place.keys += terminal.keys()
}

/** Changes a JSON file, or creates it. */
export function editJson(path: string, edit: (value: Record<string, unknown>) => Record<string, unknown>): void {
  mkdirSync(dirname(path), { recursive: true })
  const value = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
  writeFileSync(path, JSON.stringify(edit(value), null, 2))
}

/** Returns the process ids of a place's waiters. */
export function waitersOf({ home }: Place): number[] {
  return processes().filter((pid) => {
    const words = wordsOf(pid)
    return words.includes('wait') && words.some((word) => word.startsWith(home)) && words.includes('hook')
  })
}

/** Kills all processes that run below a folder. Codex leaves a daemon running, and waiters need a second to end. */
export function endLeftovers(folder: string): void {
  for (const pid of processes()) {
    const runsThere = [...wordsOf(pid), linkOf(`/proc/${pid}/cwd`)].some((word) => word.startsWith(`${folder}/`))
    if (runsThere && !wordsOf(pid).includes('serve')) kill(pid)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

function processes(): number[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function wordsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Reads the state file that records the current listener to the grid. */
export function listener({ home }: Place): { pid: number; clientPid: number } | undefined {
  const folder = join(home, '.local/state/agent-grid')
  const [agent] = existsSync(folder) ? readdirSync(folder) : []
  try {
    return JSON.parse(readFileSync(join(folder, agent, 'waiter.lock'), 'utf8'))
  } catch {
    return undefined
  }
}

/** Returns the log that agent-grid's client programs wrote in this home folder. */
export function logOf({ home }: Place): string {
  const folder = join(home, '.local/state/agent-grid')
  const [agent] = existsSync(folder) ? readdirSync(folder) : []
  try {
    return readFileSync(join(folder, agent, 'client.log'), 'utf8')
  } catch {
    return ''
  }
}

/** Resolves when a waiter of the place listens to the grid. */
export async function listens(place: Place): Promise<void> {
  await waitFor('a waiter', () => listener(place) !== undefined)
}

/** A terminal that runs one program. */
export interface Terminal {
  /** Returns the current screen content. */
  screen(): string
  /** Types text, without a line end. */
  type(text: string): void
  /** Presses keys, such as `Enter` or `C-c`. */
  press(...keys: string[]): void
  /** Resolves when the screen matches the pattern. */
  shows(pattern: RegExp): Promise<void>
  /** Returns how many keys were pressed. */
  keys(): number
  /** The process id of the program. */
  pid: number
  /** Whether the program runs. */
  isOpen(): boolean
  /** Closes the terminal, as a person closes a window. */
  close(): void
}

const server = `agent-grid-wake-${process.pid}`

/** Starts a program in its own terminal. `env` is its complete environment. */
export function openTerminal(
  name: string,
  command: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Terminal {
  const words = ['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...command]
  const line = `exec ${words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}`
  tmux('new-session', '-d', '-s', name, '-x', '160', '-y', '50', '-c', cwd, line)
  // The equals sign prevents tmux from matching a name by its prefix.
  const target = `=${name}:`
  // The screen's content; empty once the terminal is closed.
  const screen = () =>
    spawnSync('tmux', ['-L', server, 'capture-pane', '-p', '-t', target], { encoding: 'utf8' }).stdout
  const isOpen = () => spawnSync('tmux', ['-L', server, 'has-session', '-t', `=${name}`]).status === 0
  let count = 0
  return {
    screen,
    isOpen,
    keys: () => count,
    type(text) {
      count += text.length
      tmux('send-keys', '-t', target, '-l', text)
    },
    press(...keys) {
      count += keys.length
      tmux('send-keys', '-t', target, ...keys)
    },
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

/** Closes all terminals. `isEnd` also stops the tmux server. */
export function closeTerminals(isEnd = false): void {
  if (isEnd) return void spawnSync('tmux', ['-L', server, 'kill-server'])
  const { stdout } = spawnSync('tmux', ['-L', server, 'list-sessions', '-F', '#{session_name}'], { encoding: 'utf8' })
  for (const name of stdout.split('\n').filter(Boolean)) {
    spawnSync('tmux', ['-L', server, 'kill-session', '-t', `=${name}`])
  }
}

function tmux(...words: string[]): string {
  // Keeps the server running without sessions, because an exiting server accepts no new session.
  const settings = words[0] === 'new-session' ? ['start-server', ';', 'set', '-g', 'exit-empty', 'off', ';'] : []
  return execFileSync('tmux', ['-L', server, ...settings, ...words], { encoding: 'utf8' })
}
