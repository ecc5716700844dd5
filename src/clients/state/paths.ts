/** Where the client programs store their files. `AGENT_GRID_HOME` moves all of them into one folder. */
import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { printable } from '../../lib/redact.ts'

/** An agent on a grid. URL and alias determine where its data is stored on this machine. */
export interface GridAgent {
  /** The grid's URL, such as `https://grid.example.com`. */
  url: string
  /** With or without `@`. */
  alias: string
}

const privateMode = 0o700

/**
 * The folder of the connections: `$XDG_CONFIG_HOME/agent-grid`, by default `~/.config/agent-grid`; on Windows
 * `%APPDATA%\agent-grid`. It need not exist.
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function configFolder(): string {
  return ownFolder('config', 'XDG_CONFIG_HOME', '.config', 'APPDATA')
}

/**
 * The folder for this machine's data about one agent: sessions, locks, announced messages, the log. It is
 * `$XDG_STATE_HOME/agent-grid/GRID+ALIAS`, by default below `~/.local/state`; on Windows below `%LOCALAPPDATA%`.
 * Created if missing.
 */
export function stateFolder(agent: GridAgent): string {
  const folder = join(stateRoot(), agentName(agent))
  mkdirSync(folder, { recursive: true, mode: privateMode })
  return folder
}

/** The folder with the state of all agents. It need not exist. */
export function stateRoot(): string {
  return ownFolder('state', 'XDG_STATE_HOME', join('.local', 'state'), 'LOCALAPPDATA')
}

/**
 * The folder of the installed client program: `$XDG_DATA_HOME/agent-grid`, by default `~/.local/share/agent-grid`; on
 * Windows `%LOCALAPPDATA%\agent-grid\data`. It need not exist.
 */
export function dataFolder(): string {
  return ownFolder('data', 'XDG_DATA_HOME', join('.local', 'share'), 'LOCALAPPDATA')
}

function ownFolder(kind: 'config' | 'state' | 'data', variable: string, byDefault: string, onWindows: string): string {
  const { env } = process
  if (env.AGENT_GRID_HOME) return join(env.AGENT_GRID_HOME, kind)
  if (process.platform === 'win32' && env[onWindows]) {
    return join(env[onWindows], 'agent-grid', ...(kind === 'config' ? [] : [kind]))
  }
  return join(env[variable] || join(homedir(), byDefault), 'agent-grid')
}

/** The name of an agent's folder. A URL's host has no `_`, so two agents share a name only if someone intends it. */
function agentName({ url, alias }: GridAgent): string {
  const { protocol, host, pathname } = new URL(url)
  const grid = `${protocol === 'https:' ? '' : 'http_'}${host}${pathname.replace(/\/$/, '')}`
  return `${grid.toLowerCase().replace(/[^a-z0-9.-]/g, '_')}+${alias.replace(/^@/, '').replace(/[^\w-]/g, '_')}`
}

/** The size at which the log is renamed to `client.log.1`. A new log begins then. */
const maxBytes = 1_000_000

/** Appends a line to `client.log` in an agent's state folder. Never fails. */
export function logLine(agent: GridAgent, message: string): void {
  try {
    const path = join(stateFolder(agent), 'client.log')
    if (sizeOf(path) > maxBytes) renameSync(path, `${path}.1`)
    appendFileSync(path, `${new Date().toISOString()} ${process.pid} ${printable(message)}\n`, { mode: 0o600 })
  } catch {
    // A client program continues without its log.
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
