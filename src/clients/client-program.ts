/** The properties of a coding client, and the texts of its hooks. */
import process from 'node:process'
import type { Entry, Json } from './files/written-file.ts'

export interface ClientProgram {
  title: string
  commands: readonly string[]
  /** The folder of its configuration for the user. */
  folder(): string
  /** The same in a project. */
  projectFolder: string
  server: ServerEntry
  hooks?: HookEntries
  /** The file of its plugin, which has the work of hooks, below its folder. */
  plugin?: string
  /** Where it reads skills and hook files, if that is not its folder. */
  sharedFolder?: { user(): string; project: string }
  /** The name of a grid tool for its model; a plugin of the client may provide the tool. */
  tool?(name: string, isPlugin?: boolean): string
  /**
   * What gives one session the key of `AGENT_GRID_KEY`, whatever its files say: words for its command line, which others
   * can read, variables, or settings in a file that a variable names. `env` is the environment of the user. Fails with `ClientError`.
   */
  session?(url: string, env: Record<string, string | undefined>): {
    words?: readonly string[]
    env?: Record<string, string>
    settings?: { variable: string; value: Json }
  }
  /** Where its user allows tool calls permanently. Without it, `connect` cannot write this. */
  permissions?: Permissions
  /** How its user allows them by hand. */
  allowing: string
  /** What it always asks, regardless of its configuration. */
  asks: string
  /** What a person must do to make the tools work where no key is written. */
  login?: string
  /** What a person must do before its hooks run. */
  approval?: string
  /** How `--wake auto` announces messages to it. */
  wakes: string
  /** The oldest version that messages wake. Without it, they wake no version. */
  wakesFrom?: string
}

/** Where the tools of the grid are configured. A place is one for the user or one in a project. */
interface ServerEntry {
  /** `folder` is the client's; `project` is undefined for the user. */
  file(folder: string, project: string | undefined): string
  container(project: string | undefined): string[]
  /** Which keys are written: `user` not into files of projects, which others read; `file` into a file of their own. */
  key: 'always' | 'user' | 'file'
  /** By default JSON. */
  format?: 'toml'
  /** A note for people about its time limit. */
  limit?: string
  value(url: string, headers: { headers?: { Authorization: string } }): Json
  /** The default where its user has set nothing. */
  options?: readonly Entry[]
}

/** Either entries, or a file of its own. */
interface Permissions {
  file(folder: string, project: string | undefined): string
  /** The file of a project is the user's own too. Others are shared, and do not allow anything to others. */
  isOwnInProject?: true
  entry?(tool: string): Entry
  text?(tools: readonly string[]): string
}

/** The command of a hook, as words, and for the shell of this system. */
export interface HookCommand {
  words: readonly string[]
  line: string
  /** The same as the end of a line: the shell becomes the program. */
  exec: string
  /** In a package, whose variables the client replaces. */
  isPlugin?: true
}

interface HookEntries {
  file(folder: string, project: string | undefined): string
  /** It is a file of its own, which begins with this. */
  ownFile?: { [name: string]: Json }
  /** What a new file begins with. */
  base?: { [name: string]: Json }
  /**
   * Which hooks run at which events with `--wake auto`. `wait` wakes the session when it ends; `edit` is only there with
   * `--edit-warnings on`.
   */
  events: Record<string, readonly string[]>
  /** Its hooks stand in a group below the event: `[{hooks: [...]}]`. */
  isGrouped?: true
  /** The tools for which the groups of events are, by event. */
  matchers?: Readonly<Record<string, string>>
  value(command: HookCommand, hook: string): Json
  /** How it reads what its model is to learn. Most clients read `usual`: `hookSpecificOutput.additionalContext`. */
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
