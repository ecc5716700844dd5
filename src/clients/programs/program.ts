/** What differs between the clients: where each keeps what, and what it is called there. See docs/clients.md. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import type { Connection, Scope, Wake } from '../connections.ts'
import type { WantedFile } from '../files/written-file.ts'
import { serverName, skill } from '../primer.ts'
import type { ClientName } from './names.ts'

/** What a client is connected with. */
export interface Setup extends Pick<Connection, 'url' | 'alias' | 'key' | 'wake' | 'folder'> {
  /** What runs the client program, before its words. */
  command: readonly string[]
  /** The file of the plugin for opencode. */
  openCodePlugin: string
  /** Where a key can be kept in a file of its own, for clients that read one. */
  keyFile: string
}

/** A client. */
export interface ClientProgram {
  name: ClientName
  title: string
  /** The names of its commands. */
  commands: readonly string[]
  /** The folder of its configuration. */
  folder(): string
  /** What it is to have in its files. */
  files(setup: Setup): WantedFile[]
  /** What is left for a person, in whole sentences; it does not work before. */
  steps(setup: Setup): string[]
  /** How it is told of messages, in one sentence. */
  wakes: Record<Wake, string>
}

/** Whether a client seems to be on this machine: its command, or its folder. */
export function isInstalled({ commands, folder }: ClientProgram): boolean {
  return existsSync(folder()) || commands.some(isCommand)
}

/** The MCP endpoint of the grid. */
export function endpoint({ url }: Pick<Setup, 'url'>): string {
  return `${url}/mcp/v1/grid`
}

/** The headers of the MCP entry. */
export function headers({ key }: Pick<Setup, 'key'>): { Authorization: string } {
  return { Authorization: `Bearer ${key}` }
}

/** For the user or for a project. A project's files are shared with others, so they get no key. */
export function scopeOf({ folder }: Pick<Setup, 'folder'>): Scope {
  return folder === undefined ? 'user' : 'project'
}

/** The words of a hook. They are the same every time, because some clients ask their user again when they change. */
export function hookWords({ command, alias, url }: Setup, client: ClientName, event: string): string[] {
  return [...command, 'hook', client, event, '--as', alias, '--url', url]
}

/** Words as one line for the shell of this system. */
export function shellLine(words: readonly string[], shell = process.platform === 'win32' ? 'cmd' : 'sh'): string {
  const quote = (word: string) => {
    if (/^[\w@%+=:,./\\-]+$/.test(word) && !(shell === 'sh' && word.includes('\\'))) return word
    if (shell === 'cmd') return `"${word}"`
    return shell === 'powershell' ? `'${word.replaceAll("'", "''")}'` : `'${word.replaceAll("'", `'\\''`)}'`
  }
  return `${shell === 'powershell' ? '& ' : ''}${words.map(quote).join(' ')}`
}

/** The skill in a folder of skills. */
export function skillFile(skills: string): WantedFile {
  return { path: join(skills, serverName, 'SKILL.md'), format: 'own', text: skill() }
}

/** A folder of the user, which a variable may move. */
export function userFolder(variable: string | undefined, name: string): string {
  return (variable && process.env[variable]) || join(homedir(), name)
}

/** A sentence for a client that cannot be woken. */
export const toldAtBorders: Record<Wake, string> = {
  auto:
    'It is told of new messages when a session begins, at each prompt and after tools. Nothing wakes it while it is idle.',
  start: 'It is told of unread messages when a session begins.',
  off: 'It is not told of messages.',
}

/** A sentence for one that can be. */
export const woken: Record<Wake, string> = {
  auto: 'New messages wake an idle session, and are told to a busy one.',
  start: toldAtBorders.start,
  off: toldAtBorders.off,
}

function isCommand(name: string): boolean {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : ['']
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.some((folder) => endings.some((ending) => existsSync(join(folder, name + ending))))
}
