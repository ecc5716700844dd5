import process from 'node:process'
import { ConfigError } from '../config.ts'
import { GridError } from '../errors.ts'
import { type Command, type CommandArguments, CommandError, readArguments } from './command.ts'
import { version } from '../lib/version.ts'
import { findCommand, help } from './help.ts'
import { runStoreCommand } from './run-store-command.ts'
import { StartError } from '../store/start-error.ts'

const helpNames = ['help', '--help', '-h']
const versionNames = ['--version', '-v', 'version']

/**
 * Run one command line. Resolves to the exit code: 0, 1 if the command failed, 2 if the command line is wrong. With
 * `--json`, standard output gets one JSON object, also for a failure: `{"error": {"code", "message"}}`.
 */
export async function runCommandLine(words: string[]): Promise<number> {
  try {
    return await findAndRun(words)
  } catch (error) {
    const { code, message, exitCode } = describeError(error)
    if (words.includes('--json')) console.log(JSON.stringify({ error: { code, message } }))
    else console.error(message)
    return exitCode
  }
}

async function findAndRun([name = 'help', ...words]: string[]): Promise<number> {
  if (helpNames.includes(name)) return print(help(words[0]))
  if (versionNames.includes(name)) {
    return print(words.includes('--json') ? JSON.stringify({ version }) : `agent-grid ${version}`)
  }
  const command = findCommand(name)
  const { args, json, help: wantsHelp } = readArguments(command, words, process.env)
  return wantsHelp ? print(help(name)) : await run(command, args, json)
}

async function run(command: Command, args: CommandArguments, json: boolean): Promise<number> {
  if ('start' in command) return await command.start(json, args)
  const result = await runStoreCommand(command, args)
  return print(json ? JSON.stringify(result) : command.print(result))
}

function print(text: string): number {
  console.log(text)
  return 0
}

function describeError(error: unknown): { code: string; message: string; exitCode: number } {
  if (error instanceof CommandError) return error
  if (error instanceof GridError || error instanceof StartError) {
    return { code: error.code, message: error.message, exitCode: 1 }
  }
  if (error instanceof ConfigError) return { code: 'invalid_config', message: error.message, exitCode: 1 }
  // The user is the operator, so the message of the system or the database helps.
  return { code: 'internal', message: error instanceof Error ? error.message : String(error), exitCode: 1 }
}
