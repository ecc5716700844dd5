/** A coding client whose sessions are to be woken. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { LabAgent } from './lab-grid.ts'
import type { Terminal } from './terminal.ts'

/** A session to open. */
export interface SessionOptions {
  /** Of the terminal. */
  name: string
  /** The home folder of the client, which is made. */
  folder: string
  /** The path of the client. */
  program: string
  /** The built client program of the grid. */
  hookProgram: string
  /** The built plugin for opencode. */
  openCodePlugin: string
  /** The address of the grid. */
  grid: string
  agent: LabAgent
  /** The address of the model. */
  model: string
  /** How often it may be woken, per minute and hour. */
  budget: number
}

export interface WakeSession {
  terminal: Terminal
  /** Type a prompt and send it. */
  prompt(text: string): Promise<void>
  /** The environment of the client, for other commands in its home. */
  env: Record<string, string>
  cwd: string
}

/** The environment of a client in an own home folder. */
export function clientEnv({ folder, budget }: SessionOptions): Record<string, string> {
  return {
    ...{ HOME: folder, PATH: process.env.PATH!, TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/bash' },
    AGENT_GRID_HOME: join(folder, 'agent-grid'),
    AGENT_GRID_WAKES_PER_MINUTE: String(budget),
    AGENT_GRID_WAKES_PER_HOUR: String(budget),
  }
}

/** Keep the connection of the client, as `connect` does. */
export function writeConnection({ folder, grid, agent }: SessionOptions, client: string): void {
  const connection = {
    ...{ url: grid, alias: agent.alias, key: agent.key, client, scope: 'user', wake: 'auto', keyName: 'lab' },
    ...{ isOwnKey: false, files: [], at: new Date().toISOString() },
  }
  writeJsonFile(join(folder, 'agent-grid/config/connections.json'), { connections: [connection] })
}

export function writeJsonFile(path: string, value: unknown): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, JSON.stringify(value, null, 2))
}
