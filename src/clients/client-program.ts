/** A coding client's properties, and the texts of its hooks. */
import process from 'node:process'
import type { Entry, Json } from './files/written-file.ts'

export interface ClientProgram {
  title: string
  commands: readonly string[]
  /** The user's configuration folder for the client. */
  folder(): string
  /** The client's configuration folder in a project, relative to the project. */
  projectFolder: string
  server: ServerEntry
  hooks?: HookEntries
  /** The path of the client's plugin, relative to its folder, if a plugin replaces hooks. */
  plugin?: string
  /** Where the client reads skills and hook files, if not in its own folder. */
  sharedFolder?: { user(): string; project: string }
  /** The name of a grid tool as the client's model calls it. A plugin of the client may provide the tool. */
  tool?(name: string, isPlugin?: boolean): string
  /**
   * How one session gets the key in `AGENT_GRID_KEY`, regardless of the client's files: as command line arguments
   * (which others can read), as variables, or as settings in a file named by a variable. `env` is the user's
   * environment. Fails with `ClientError`.
   */
  session?(url: string, env: Record<string, string | undefined>): {
    words?: readonly string[]
    env?: Record<string, string>
    settings?: { variable: string; value: Json }
  }
  /** Where the client stores permanently allowed tools. Without this, `connect` cannot allow tools. */
  permissions?: Permissions
  /** How a user allows the tools manually. */
  allowing: string
  /** What the client always asks, regardless of its configuration. */
  asks: string
  /** What a person must do to make the tools work if `connect` writes no key. */
  login?: string
  /** What a person must do before the client runs its hooks. */
  approval?: string
  /** How the client is notified of messages with `--wake auto`. */
  wakes: string
  /** The oldest client version that messages can wake; undefined if no version can be woken. */
  wakesFrom?: string
}

/** Where the grid's tools are configured: for the user, or for one project. */
interface ServerEntry {
  /** `folder` is the client's folder; `project` is undefined for the user. */
  file(folder: string, project: string | undefined): string
  container(project: string | undefined): string[]
  /**
   * Where keys go. `user`: only into the user's files, because others read project files. `file`: into a separate file.
   */
  key: 'always' | 'user' | 'file'
  /** The file's format; JSON by default. */
  format?: 'toml'
  /** A note to the user about the client's time limit. */
  limit?: string
  value(url: string, headers: { headers?: { Authorization: string } }): Json
  /** Entries that are added only if the user has set no value. */
  options?: readonly Entry[]
}

/** Where tools are allowed: with entries in a shared file (`entry`), or in a separate file (`text`). */
interface Permissions {
  file(folder: string, project: string | undefined): string
  /** Set if the file in a project is private to the user, because a shared file must not grant permissions. */
  isOwnInProject?: true
  entry?(tool: string): Entry
  text?(tools: readonly string[]): string
}

/** A hook's command, as arguments and for this system's shell. */
export interface HookCommand {
  words: readonly string[]
  line: string
  /** The same command, as the last command of a shell line, where the program replaces the shell. */
  exec: string
  /** Whether the hook is in a package. The client expands the variables of a package. */
  isPlugin?: true
}

interface HookEntries {
  file(folder: string, project: string | undefined): string
  /** The initial content of a separate file that holds only hooks. */
  ownFile?: { [name: string]: Json }
  /** The initial content of a new shared file. */
  base?: { [name: string]: Json }
  /**
   * Which hooks run at which events with `--wake auto`. `wait` wakes the session when the hook exits. `edit` exists
   * only with `--edit-warnings on`.
   */
  events: Record<string, readonly string[]>
  /** The client nests hooks in a group below the event: `[{hooks: [...]}]`. */
  isGrouped?: true
  /** The tools that each event's hooks apply to, by event. */
  matchers?: Readonly<Record<string, string>>
  value(command: HookCommand, hook: string): Json
  /**
   * The format of the context that a hook passes to the model. Most clients use `usual`:
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
