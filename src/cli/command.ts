/** What a command is, and how its options are read. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { Store } from '../store/store.ts'

export interface Option {
  /** What stands for the value in the usage text. */
  readonly takes: string
  readonly doc: string
  readonly required?: boolean
  /** The only values there are. */
  readonly oneOf?: readonly string[]
  /** The environment variable that may give it instead: other users of the machine can read a command line. */
  readonly env?: string
}

export type Options = Readonly<Record<string, Option>>
export type Result = Record<string, unknown>

type Value<O extends Option> = O extends { readonly oneOf: readonly (infer Word)[] } ? Word : string

/** The values of a command's options, by name. */
export type Arguments<O extends Options = Options> = {
  [Name in keyof O]: O[Name] extends { readonly required: true } ? Value<O[Name]> : Value<O[Name]> | undefined
}

interface Described<O extends Options> {
  readonly name: string
  /** One line of the usage text. */
  readonly summary: string
  readonly options: O
}

/**
 * A command on the database. It runs in this process, or in the server that holds
 * the local file, so its result is JSON and `print` says it to people.
 */
export interface StoreCommand<O extends Options = Options, R extends Result = Result> extends Described<O> {
  run(store: Store, args: Arguments<O>): Promise<R>
  print(result: R): string
}

/** A command that is a process of its own; resolves to the exit code. */
export interface ProcessCommand extends Described<Options> {
  start(json: boolean): Promise<number>
}

export type Command = StoreCommand | ProcessCommand

/** Describe a command on the database; its arguments get the types of its options. */
export function storeCommand<const O extends Options, R extends Result>(command: StoreCommand<O, R>): StoreCommand {
  return command as unknown as StoreCommand
}

/** A command cannot do its work. `code` is for scripts, the message for people. */
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

/** The command line itself is wrong. Exit code 2, as shells have it. */
export function usageError(message: string): CommandError {
  return new CommandError('usage', message, 2)
}

/** Read the words behind a command's name, and the variables its options name. Fails with `usage`. */
export function readArguments(
  command: Command,
  words: string[],
  env: Record<string, string | undefined>,
): { args: Arguments; json: boolean; help: boolean } {
  const { json, help, ...args } = readWords(command, words)
  const given = { ...readVariables(command, env), ...args }
  return { args: help ? {} : checkArguments(command, given), json: json === true, help: help === true }
}

function readVariables({ options }: Command, env: Record<string, string | undefined>): Record<string, string> {
  const given = Object.entries(options).map(([name, option]) => [name, option.env && env[option.env]])
  return Object.fromEntries(given.filter(([, value]) => value))
}

function readWords(command: Command, words: string[]): Record<string, unknown> {
  const options: NonNullable<ParseArgsConfig['options']> = {
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  }
  for (const name of Object.keys(command.options)) options[name] = { type: 'string' }
  try {
    return parseArgs({ args: words, options, strict: true, allowPositionals: false }).values
  } catch (error) {
    const [firstLine] = (error as Error).message.split('\n')
    throw usageError(`${firstLine}\n${usageHint(command)}`)
  }
}

/** Arguments by name, from a command line or from another process. Fails with `usage`. */
export function checkArguments(command: Command, given: Record<string, unknown>): Arguments {
  for (const [name, value] of Object.entries(given)) {
    const option = Object.hasOwn(command.options, name) ? command.options[name] : undefined
    if (!option || typeof value !== 'string') throw usageError(`${command.name} has no option --${name}.`)
    if (option.oneOf && !option.oneOf.includes(value)) {
      throw usageError(`--${name} takes ${option.oneOf.join(', ')}, not "${value}".`)
    }
  }
  for (const [name, { required, takes }] of Object.entries(command.options)) {
    if (required && !given[name]) throw usageError(`${command.name} needs --${name} ${takes}.\n${usageHint(command)}`)
  }
  return given as Arguments
}

function usageHint(command: Command): string {
  return `"agent-grid help ${command.name}" lists its options.`
}
