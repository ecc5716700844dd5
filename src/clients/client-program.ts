/** A coding client's properties, and the texts of its hooks. */
import process from 'node:process'
import type { Entry, Json } from './files/written-file.ts'

export interface ClientProgram {
  title: string
  commands: readonly string[]
  /** The user's configuration folder for the client. */
  folder(): string
  /** The same folder in a project. */
  projectFolder: string
  server: ServerEntry
  hooks?: HookEntries
  /** The path of its plugin, relative to its folder, if a plugin replaces hooks. */
  plugin?: string
  /** Where it reads skills and hook files, if not in its folder. */
  sharedFolder?: { user(): string; project: string }
  /** The name by which its model calls a grid tool; a plugin of the client may provide the tool. */
  tool?(name: string, isPlugin?: boolean): string
  /**
   * How one session gets the key in `AGENT_GRID_KEY`, whatever its files contain: command line arguments, which others
   * can read, variables, or settings in a file named by a variable. `env` is the user's environment. Fails with
   * `ClientError`.
   */
  session?(url: string, env: Record<string, string | undefined>): {
    words?: readonly string[]
    env?: Record<string, string>
    settings?: { variable: string; value: Json }
  }
  /** Where its user permanently allows tool calls. Without this, `connect` cannot write it. */
  permissions?: Permissions
  /** How its user allows them manually. */
  allowing: string
  /** What it always asks, regardless of its configuration. */
  asks: string
  /** What a person must do to make the tools work if no key is written. */
  login?: string
  /** What a person must do before its hooks run. */
  approval?: string
  /** How it is notified of messages with `--wake auto`. */
  wakes: string
  /** The oldest version that messages can wake. Without it, no version can be woken. */
  wakesFrom?: string
}

/** Where the grid's tools are configured. A place belongs to the user or to a project. */
interface ServerEntry {
  /** `folder` is the client's; `project` is undefined for the user. */
  file(folder: string, project: string | undefined): string
  container(project: string | undefined): string[]
  /** Which keys are written: `user` not into project files, which others read; `file` into a separate file. */
  key: 'always' | 'user' | 'file'
  /** By default JSON. */
  format?: 'toml'
  /** A note for people about the client's time limit. */
  limit?: string
  value(url: string, headers: { headers?: { Authorization: string } }): Json
  /** The default if the user has set nothing. */
  options?: readonly Entry[]
}

/** Either entries in a file, or a separate file. */
interface Permissions {
  file(folder: string, project: string | undefined): string
  /**
   * The project's file is private to the user, too. Other project files are shared, and must not allow anything for
   * others.
   */
  isOwnInProject?: true
  entry?(tool: string): Entry
  text?(tools: readonly string[]): string
}

/** A hook's command, as arguments and for this system's shell. */
export interface HookCommand {
  words: readonly string[]
  line: string
  /** The same command for the end of a shell line, where the program replaces the shell. */
  exec: string
  /** Whether the hook is in a package, whose variables the client expands. */
  isPlugin?: true
}

interface HookEntries {
  file(folder: string, project: string | undefined): string
  /** A separate file, which begins with this. */
  ownFile?: { [name: string]: Json }
  /** The initial content of a new file. */
  base?: { [name: string]: Json }
  /**
   * Which hooks run at which events with `--wake auto`. `wait` wakes the session when it ends; `edit` exists only with
   * `--edit-warnings on`.
   */
  events: Record<string, readonly string[]>
  /** Its hooks are in a group below the event: `[{hooks: [...]}]`. */
  isGrouped?: true
  /** The tools that the event groups apply to, by event. */
  matchers?: Readonly<Record<string, string>>
  value(command: HookCommand, hook: string): Json
  /**
   * The format in which it passes context to its model. Most clients use `usual`:
   * `hookSpecificOutput.additionalContext`.
   */
  context?(text: string, usual: { [name: string]: Json }): { [name: string]: Json }
}

export function shellLine(words: readonly string[], shell = process.platform === 'win32' ? 'cmd' : 'sh'): string {
  const quote = (word: string) => {
    if (/^[\w@%+=:,./\\-]+$/.test(word) && !(shell === 'sh' && word.includes('\\'))) return word
    if (shell === 'cmd') return `"${word}"`
    return shell === 'powershell' ? `'${word.replaceAll("'", "''")}'` : `'${word.replaceAll("'", `'\\''`)}'`
  }
  return `${shell === 'powershell' ? '& ' : ''}${words.map(quote).join(' ')}`
}
