import process from 'node:process'
import { ClientError } from '../clients/grid-call.ts'
import { ConfigError, describeSettings, type SettingDescription } from '../config.ts'
import { GridError } from '../errors.ts'
import { didYouMean } from '../lib/did-you-mean.ts'
import { commit, fullVersion, version } from '../lib/version.ts'
import { jsonLine } from '../lib/redact.ts'
import type { StartError } from '../store/start-error.ts'
import {
  type Command,
  type CommandArguments,
  CommandError,
  isOperand,
  readArguments,
  type StoreCommand,
  usageError,
} from './command.ts'
import type { runStoreCommand } from './store-command.ts'
import { print, printError } from './output.ts'
import { table } from './tables.ts'

const helpNames = ['help', '--help', '-h']
const versionNames = ['--version', '-v', 'version']

export interface Program extends Usage {
  /** Absent if no command needs the database. */
  runStoreCommand?: typeof runStoreCommand
}

/**
 * Runs one command line. Resolves to the exit code: 0, 1 if the command failed, 2 if the command line is invalid. With
 * `--json`, standard output gets one JSON object, also for a failure: `{"error": {"code", "message"}}`.
 */
export async function runCommandLine(words: string[], program: Program): Promise<number> {
  try {
    return await findAndRun(words, program)
  } catch (error) {
    const { code, message, exitCode } = describeError(error)
    if (words.includes('--json')) print(jsonLine({ error: { code, message } }))
    else printError(message)
    return exitCode
  }
}

async function findAndRun(line: string[], program: Program): Promise<number> {
  const [name = 'help', words] = program.splitName(line)
  if (helpNames.includes(name)) return printed(program.help(words.length > 0 ? program.splitName(words)[0] : undefined))
  if (versionNames.includes(name)) {
    return printed(words.includes('--json') ? JSON.stringify({ version, commit }) : `agent-grid ${fullVersion}`)
  }
  const command = program.findCommand(name)
  if ('startWith' in command && command.startWith) return await command.startWith(words)
  const { args, json, help: wantsHelp, words: passedOn } = readArguments(
    command,
    words,
    process.env,
    program.settings,
  )
  if (wantsHelp) return printed(program.help(name))
  return 'start' in command ? await command.start(json, args, passedOn) : await run(command, args, json, program)
}

async function run(
  command: StoreCommand,
  args: CommandArguments,
  json: boolean,
  program: Program,
): Promise<number> {
  const result = await program.runStoreCommand!(command, args).catch((error) => {
    throw withOptionNames(error, command)
  })
  return printed(json ? jsonLine(result) : command.print(result))
}

/** In an error, replaces field names of verbs (`accessList`) with the options that the user typed (`--access-list`). */
function withOptionNames(error: unknown, { options }: StoreCommand): unknown {
  if (!(error instanceof GridError || error instanceof CommandError)) return error
  const message = Object.keys(options).reduce((text, name) => {
    const field = name.replace(/-./g, ([, letter]) => letter.toUpperCase())
    // A sentence may contain the word "name". Only at the start and in lower case does it mean the field.
    const named = field === name ? new RegExp(`^${name}(?=[ :])`) : new RegExp(`\\b${field}\\b`, 'g')
    return text.replace(named, `--${name}`)
  }, error.message)
  return new CommandError(error.code, message, error instanceof CommandError ? error.exitCode : 1)
}

function printed(text: string): number {
  print(text)
  return 0
}

function describeError(error: unknown): { code: string; message: string; exitCode: number } {
  if (error instanceof CommandError) return error
  if (error instanceof GridError || error instanceof ClientError || isStartError(error)) {
    return { code: error.code, message: error.message, exitCode: 1 }
  }
  if (error instanceof ConfigError) return { code: 'invalid_config', message: error.message, exitCode: 1 }
  // The operator sees the message of the system or the database, because it helps to find the cause.
  return { code: 'internal', message: error instanceof Error ? error.message : String(error), exitCode: 1 }
}

/** Compares by name, because importing the class would load the database driver. */
function isStartError(error: unknown): error is StartError {
  return error instanceof Error && error.name === 'StartError'
}

export interface Usage {
  /** The core settings by default. */
  settings?: readonly SettingDescription[]
  /** The help text of a command, of `settings`, or the overview. Fails with `usage`. */
  help(topic?: string): string
  findCommand(name: string): Command
  /** Splits a command line into the command's name, which may have two words, and its arguments. */
  splitName(words: readonly string[]): [name: string | undefined, rest: string[]]
}

/** The documentation pages that `help` prints, by name. */
interface Manual {
  pages: readonly string[]
  readPage(name: string): string
}

const noManual: Manual = { pages: [], readPage: () => '' }

/**
 * The usage of these commands. The overview starts with `title` and ends with `notes`. `moved` maps former names to
 * their replacements.
 */
export function usageOf(
  commands: readonly Command[],
  title: string,
  notes: string,
  { pages, readPage }: Manual = noManual,
  settings: readonly SettingDescription[] = describeSettings(),
  moved: Readonly<Record<string, string>> = {},
): Usage {
  /** Finds a command. `others` are other allowed words, which may be suggested for a misspelt name. */
  function find(name: string, others: string[]): Command {
    const command = commands.find((command) => command.name === name)
    if (command) return command
    if (Object.hasOwn(moved, name)) throw usageError(`${name} is now "agent-grid ${moved[name]}".`)
    const hint = didYouMean(name, [...commands.map(({ name }) => name), ...others])
    throw usageError(`There is no command "${name}".${hint} "agent-grid help" lists all commands.`)
  }

  return {
    settings,
    help(topic) {
      if (topic === undefined) return overview(commands, title, notes, pages)
      if (topic === 'settings') return settingsText(settings)
      if (pages.includes(topic)) return readPage(topic)
      return options(find(topic, ['settings', ...pages]))
    },
    findCommand: (name) => find(name, ['help']),
    splitName([first, ...rest]) {
      const isTwo = commands.some(({ name }) => name === `${first} ${rest[0]}`)
      return isTwo ? [`${first} ${rest[0]}`, rest.slice(1)] : [first, rest]
    },
  }
}

function overview(commands: readonly Command[], title: string, notes: string, pages: readonly string[]): string {
  return [
    title,
    '',
    'Usage: agent-grid COMMAND [OPTIONS]',
    '',
    indent(table(commands.map(({ name, summary }) => [name, summary] as const))),
    '',
    indent(table([
      ['help COMMAND', 'list the options of a command'],
      ['help settings', 'list the environment variables with their defaults'],
      ...(pages.length === 0 ? [] : [['help PAGE', `read the manual: ${pages.join(', ')}`] as const]),
      ['--version', 'print the version'],
    ])),
    '',
    notes,
  ].join('\n')
}

function options(command: Command): string {
  const lines = Object.entries(command.options).flatMap(([name, option]) => {
    const { placeholder, description, required, env, file } = option
    const notes = (required ? ' (required)' : '') + (env ? ` (safer in ${env})` : '')
    const title = isOperand(command, name) ? placeholder : `--${name} ${placeholder}`.trim()
    const line = [title, description + notes] as const
    return file === undefined
      ? [line]
      : [line, [`--${file} PATH`, `a file with ${title.split(' ')[0]}; - is standard input`] as const]
  })
  return [
    `agent-grid ${command.name}: ${command.summary}`,
    '',
    indent(table([...lines, ['--json', 'print one JSON object'], ...wordsOf(command)])),
  ].join('\n')
}

function wordsOf({ words }: Command): [string, string][] {
  return words ? [[`-- ${words.placeholder}`, words.description]] : []
}

function settingsText(settings: readonly SettingDescription[]): string {
  const paragraphs = settings.map(({ name, description, format, fallback }) =>
    `${name}\n  ${description}\n  Value: ${format}.\n  Default: ${fallback}.`
  )
  return ['Environment variables, all optional:', ...paragraphs].join('\n\n')
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
