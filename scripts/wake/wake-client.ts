/** A coding client whose sessions are to be woken: how it is installed, connected and used in a terminal. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { waitFor } from '../../test/support/wait-for.ts'
import { installPackages } from '../run-program.ts'
import type { LabAgent } from './lab-grid.ts'

export interface WakeClient {
  /** Such as `claude 2.1.197`. */
  title: string
  /** Its name for `connect`. */
  name: 'claude' | 'codex' | 'opencode'
  /** The package on npm, with a version. */
  package: string
  /** The program in it, below `node_modules`. */
  program: string
  /** Whether a session can be woken before its first prompt. */
  wakesUnprompted: boolean
  /** Write what a log-in leaves, and which model is asked. Nothing else is in the home before it is connected. */
  configure(place: Place): void
  env(place: Place): Record<string, string>
  /** Its words in a terminal. */
  words?: string[]
  /** Open a session in a terminal. Resolves when it takes prompts. */
  open(terminal: Terminal, trust: 'all' | 'none', place: Place): Promise<void>
  /** The words that run one prompt without a terminal. */
  oneShot(prompt: string): string[]
  /** What a person types to end a session. */
  exit: string
  /** What a person types for a new one. */
  clear: string
}

/** A home folder with a connected client. */
export interface Place {
  home: string
  project: string
  /** The path of the client. */
  program: string
  agent: LabAgent
  grid: string
  /** The address of the model, without `/v1`. */
  model: string
  /** How many keys were pressed to connect it, and until its sessions took prompts. */
  keys: number
}

/** The environment of everything that runs in a place. */
export function placeEnv({ home }: Place, wakesAMinute = 10_000): Record<string, string> {
  return {
    ...{ HOME: home, PATH: process.env.PATH!, TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/bash' },
    AGENT_GRID_WAKES_PER_MINUTE: String(wakesAMinute),
    AGENT_GRID_WAKES_PER_HOUR: String(wakesAMinute),
  }
}

/** Install a client with npm, if it is not there. Returns the path of its program. */
export function install({ package: name, program }: WakeClient, folder: string): string {
  installPackages(folder, [name])
  return join(folder, 'node_modules', program)
}

/** Connect a client as its user does, in a terminal, with a yes to every question. */
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

/** Change a JSON file, which need not exist. */
export function editJson(path: string, edit: (value: Record<string, unknown>) => Record<string, unknown>): void {
  mkdirSync(dirname(path), { recursive: true })
  const value = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
  writeFileSync(path, JSON.stringify(edit(value), null, 2))
}

/** The process ids of the waiters of a place. */
export function waitersOf({ home }: Place): number[] {
  return processes().filter((pid) => {
    const words = wordsOf(pid)
    return words.includes('wait') && words.some((word) => word.startsWith(home)) && words.includes('hook')
  })
}

/** Kill what still runs below a folder: Codex leaves a daemon, and waiters need a second to end. */
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
    // It has ended.
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

/** The file of state that says who listens to the grid. */
export function listener({ home }: Place): { pid: number; clientPid: number } | undefined {
  const folder = join(home, '.local/state/agent-grid')
  const [agent] = existsSync(folder) ? readdirSync(folder) : []
  try {
    return JSON.parse(readFileSync(join(folder, agent, 'waiter.lock'), 'utf8'))
  } catch {
    return undefined
  }
}

/** What the client programs logged in a place. */
export function logOf({ home }: Place): string {
  const folder = join(home, '.local/state/agent-grid')
  const [agent] = existsSync(folder) ? readdirSync(folder) : []
  try {
    return readFileSync(join(folder, agent, 'client.log'), 'utf8')
  } catch {
    return ''
  }
}

/** Resolves when a waiter of a place listens to the grid. */
export async function listens(place: Place): Promise<void> {
  await waitFor('a waiter', () => listener(place) !== undefined)
}

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
  /** How many keys were pressed. */
  keys(): number
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
  // Empty once it is closed.
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

/** Close all terminals. `isEnd`: there will be no more. */
export function closeTerminals(isEnd = false): void {
  if (isEnd) return void spawnSync('tmux', ['-L', server, 'kill-server'])
  const { stdout } = spawnSync('tmux', ['-L', server, 'list-sessions', '-F', '#{session_name}'], { encoding: 'utf8' })
  for (const name of stdout.split('\n').filter(Boolean)) {
    spawnSync('tmux', ['-L', server, 'kill-session', '-t', `=${name}`])
  }
}

function tmux(...words: string[]): string {
  // It goes on without sessions: a server that is just ending takes no new one.
  const settings = words[0] === 'new-session' ? ['start-server', ';', 'set', '-g', 'exit-empty', 'off', ';'] : []
  return execFileSync('tmux', ['-L', server, ...settings, ...words], { encoding: 'utf8' })
}
