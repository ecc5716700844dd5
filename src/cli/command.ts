/** The type of a command, and the parsing of its options. */
import { readFileSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { describeSettings, type SettingDescription } from '../config.ts'
import { didYouMean } from '../lib/did-you-mean.ts'
import { hour, minute, second } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

export interface CommandOption {
  /** A placeholder for the value in the usage text, such as `NAME`. */
  readonly placeholder: string
  readonly description: string
  readonly required?: boolean
  readonly oneOf?: readonly string[]
  /** The name of the option's variant, which takes a file with the value; `-` is standard input. */
  readonly file?: string
  /** The option is a flag: the command line contains no value for it. If the flag is given, its value is `yes`. */
  readonly flag?: true
  /** May be given several times, also as the last operand. The values are joined with line breaks. */
  readonly several?: true
  /**
   * An environment variable with the value. It protects secrets, because other users of the machine can read a command
   * line.
   */
  readonly env?: string
}

export type CommandOptions = Readonly<Record<string, CommandOption>>
export type CommandResult = Record<string, unknown>

type OptionValue<O extends CommandOption> = O extends { readonly oneOf: readonly (infer Word)[] } ? Word : string

export type CommandArguments<O extends CommandOptions = CommandOptions> = {
  [Name in keyof O]: O[Name] extends { readonly required: true } ? OptionValue<O[Name]>
    : OptionValue<O[Name]> | undefined
}

interface CommandDescription<O extends CommandOptions> {
  readonly name: string
  readonly summary: string
  readonly options: O
  /** Options that are given by position instead of by name, such as a file. */
  readonly operands?: readonly string[]
  /** The arguments after `--`, which are passed on unchanged. */
  readonly words?: { readonly placeholder: string; readonly description: string }
}

/**
 * A command on the database. It runs in this process or in the server that holds the local file, so its result is
 * JSON; `print` formats it for people.
 */
export interface StoreCommand<O extends CommandOptions = CommandOptions, R extends CommandResult = CommandResult>
  extends CommandDescription<O> {
  /**
   * Whether the command creates a missing database. Other commands fail, because they probably run in the wrong folder.
   */
  beginsGrid?(args: CommandArguments<O>): boolean
  run(store: Store, args: CommandArguments<O>): Promise<R>
  print(result: R): string
}

/** A command that always runs in this process. Resolves to the exit code. */
export interface ProcessCommand extends CommandDescription<CommandOptions> {
  start(json: boolean, args: CommandArguments, words: readonly string[]): Promise<number>
  /** Called instead of `start` if the command parses its own arguments. */
  startWith?(words: readonly string[]): Promise<number>
}

export type Command = StoreCommand | ProcessCommand

/** Defines a command on the database. Infers the types of its arguments from its options. */
export function storeCommand<const O extends CommandOptions, R extends CommandResult>(
  command: StoreCommand<O, R>,
): StoreCommand {
  return command as unknown as StoreCommand
}

/** The error of a failed command. Scripts read `code`, people read the message. */
export class CommandError extends Error {
  readonly code: string
  readonly exitCode: number

  constructor(code: string, message: string, exitCode = 1) {
    super(message)
    this.name = 'CommandError'
    this.code = code
    this.exitCode = exitCode
  }
}

/** The exit code of a command that succeeded, but found a condition that needs attention. */
export const attentionExitCode = 3

/** An invalid command line. The exit code is 2, as is usual in shells. */
export function usageError(message: string): CommandError {
  return new CommandError('usage', message, 2)
}

/** Reads a command's arguments from the command line, environment variables and files. Fails with `usage`. */
export function readArguments(
  command: Command,
  line: string[],
  env: Record<string, string | undefined>,
  settings: readonly SettingDescription[] = describeSettings(),
): { args: CommandArguments; json: boolean; help: boolean; words: string[] } {
  const end = command.words ? line.indexOf('--') : -1
  const words = end < 0 ? [] : line.slice(end + 1)
  const { json, help, ...args } = parseWords(command, end < 0 ? line : line.slice(0, end), settings)
  const given = { ...readVariables(command, env), ...(help ? args : readFiles(command, args)) }
  return { args: help ? {} : checkArguments(command, given), json: json === true, help: help === true, words }
}

function readVariables({ options }: Command, env: Record<string, string | undefined>): Record<string, string> {
  const values = Object.entries(options).map(([name, option]) => [name, option.env && env[option.env]])
  return Object.fromEntries(values.filter(([, value]) => value))
}

/** Files are read here, because the command may run in a server with another working directory. */
function readFiles({ options }: Command, args: Record<string, unknown>): Record<string, unknown> {
  const given = { ...args }
  for (const [name, { file }] of Object.entries(options)) {
    if (file === undefined || given[file] === undefined) continue
    if (given[name] !== undefined) throw usageError(`Give --${name} or --${file}, not both.`)
    const path = String(given[file])
    try {
      given[name] = readFileSync(path === '-' ? 0 : path, 'utf8')
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      throw usageError(isMissing ? `--${file}: there is no file ${path}.` : `--${file}: ${(error as Error).message}`)
    }
    delete given[file]
  }
  return given
}

function parseWords(
  command: Command,
  words: string[],
  settings: readonly SettingDescription[],
): Record<string, unknown> {
  const options: NonNullable<ParseArgsConfig['options']> = {
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  }
  for (const [name, { file, flag, several }] of Object.entries(command.options)) {
    options[name] = { type: flag ? 'boolean' : 'string', multiple: several === true }
    if (file !== undefined) options[file] = { type: 'string' }
  }
  try {
    const { operands = [] } = command
    const allowPositionals = operands.length > 0
    const { values, positionals } = parseArgs({ args: words, options, strict: true, allowPositionals })
    const given: string[] = positionals
    const last = operands.length - 1
    if (command.options[operands[last]]?.several && given.length > last) given.push(given.splice(last).join('\n'))
    const more = given[operands.length]
    if (more !== undefined) throw new Error(`Unexpected argument '${more}'`)
    for (const [name, value] of Object.entries(values)) {
      if (command.options[name]?.flag) values[name] = 'yes'
      if (Array.isArray(value)) values[name] = value.join('\n')
    }
    return { ...values, ...Object.fromEntries(given.map((word, n) => [operands[n], word])) }
  } catch (error) {
    const [firstLine] = (error as Error).message.split('\n')
    const unknown = firstLine.match(/^Unknown option '--([^']+)'/)?.[1]
    const names = Object.keys(options).filter((name) => !isOperand(command, name)).map((name) => `--${name}`)
    const hint = unknown === undefined ? '' : settingHint(unknown, settings) ?? didYouMean(`--${unknown}`, names)
    const takes = `${command.name} takes ${[...operandsOf(command), ...names.toSorted()].join(', ')}.`
    throw usageError(`${firstLine}.${hint}\n${takes}\n${usageHint(command)}`)
  }
}

function operandsOf({ operands = [], options }: Command): string[] {
  return operands.map((name) => options[name].placeholder)
}

export function isOperand({ operands = [] }: Command, option: string): boolean {
  return operands.includes(option)
}

/** A hint for a setting that was given as an option. */
function settingHint(option: string, settings: readonly SettingDescription[]): string | undefined {
  const name = option.toUpperCase().replaceAll('-', '_')
  return settings.some((setting) => setting.name === name)
    ? ` Settings are environment variables: set ${name}. "agent-grid help settings" lists them.`
    : undefined
}

/** Validates arguments from a command line or from another process. Fails with `usage`. */
export function checkArguments(command: Command, given: Record<string, unknown>): CommandArguments {
  for (const [name, value] of Object.entries(given)) {
    const option = Object.hasOwn(command.options, name) ? command.options[name] : undefined
    if (!option || typeof value !== 'string') throw usageError(`${command.name} has no option --${name}.`)
    if (option.oneOf && !option.oneOf.includes(value)) {
      throw usageError(`--${name} must be one of ${option.oneOf.join(', ')}, not "${value}".`)
    }
  }
  for (const [name, { required, placeholder, file }] of Object.entries(command.options)) {
    if (required && !given[name]) {
      const orFile = file === undefined ? '' : ` or --${file} PATH`
      const option = isOperand(command, name) ? placeholder : `${`--${name} ${placeholder}`.trim()}${orFile}`
      throw usageError(`${command.name} needs ${option}.\n${usageHint(command)}`)
    }
  }
  return given as CommandArguments
}

/** The value of an option such as `90s`, in ms. Fails with `usage` outside these bounds. */
export function duration(
  name: string,
  args: CommandArguments,
  fallback: number,
  [least, most]: [number, number],
): number {
  const text = args[name]
  if (text === undefined) return fallback
  const [, count, unit] = text.match(/^(\d{1,6})(s|m|h)$/) ?? []
  const ms = Number(count) * { s: second, m: minute, h: hour }[unit as 's' | 'm' | 'h']
  if (!(ms >= least && ms <= most)) {
    throw usageError(
      `--${name} must be a duration from ${least / second}s to ${most / hour}h, such as 90s or 15m, not "${text}".`,
    )
  }
  return ms
}

function usageHint(command: Command): string {
  return `"agent-grid help ${command.name}" lists its options.`
}

export const accountOption = {
  placeholder: 'ID',
  description: 'ID of the account',
  required: true,
} as const satisfies CommandOption

export const agentOption = {
  placeholder: 'AGENT',
  description: 'alias or ID of the agent',
  required: true,
} as const satisfies CommandOption

export const emailOption = {
  placeholder: 'EMAIL',
  description: 'email address of the user',
  required: true,
} as const satisfies CommandOption
