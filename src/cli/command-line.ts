import process from 'node:process'
import { ConfigError } from '../config.ts'
import { ClientError } from '../clients/client-error.ts'
import { GridError } from '../errors.ts'
import { commit, version } from '../lib/version.ts'
import { type CommandArguments, CommandError, readArguments, type StoreCommand } from './command.ts'
import type { runStoreCommand } from './run-store-command.ts'
import type { StartError } from '../store/start-error.ts'
import type { Usage } from './usage.ts'

const helpNames = ['help', '--help', '-h']
const versionNames = ['--version', '-v', 'version']

export interface Program extends Usage {
  /** Absent if none of them needs the database. */
  runStoreCommand?: typeof runStoreCommand
}

/**
 * Run one command line. Resolves to the exit code: 0, 1 if the command failed, 2 if the command line is wrong. With
 * `--json`, standard output gets one JSON object, also for a failure: `{"error": {"code", "message"}}`.
 */
export async function runCommandLine(words: string[], program: Program): Promise<number> {
  try {
    return await findAndRun(words, program)
  } catch (error) {
    const { code, message, exitCode } = describeError(error)
    if (words.includes('--json')) console.log(JSON.stringify({ error: { code, message } }))
    else console.error(message)
    return exitCode
  }
}

async function findAndRun(line: string[], program: Program): Promise<number> {
  const [name = 'help', words] = program.splitName(line)
  if (helpNames.includes(name)) return print(program.help(words.length > 0 ? program.splitName(words)[0] : undefined))
  if (versionNames.includes(name)) {
    const built = commit === undefined ? '' : ` (${commit})`
    return print(words.includes('--json') ? JSON.stringify({ version, commit }) : `agent-grid ${version}${built}`)
  }
  const command = program.findCommand(name)
  if ('startWith' in command && command.startWith) return await command.startWith(words)
  const { args, json, help: wantsHelp, words: passedOn } = readArguments(command, words, process.env)
  if (wantsHelp) return print(program.help(name))
  return 'start' in command ? await command.start(json, args, passedOn) : await run(command, args, json, program)
}

async function run(
  command: StoreCommand,
  args: CommandArguments,
  json: boolean,
  program: Program,
): Promise<number> {
  const result = await program.runStoreCommand!(command, args)
  return print(json ? JSON.stringify(result) : command.print(result))
}

function print(text: string): number {
  console.log(text)
  return 0
}

function describeError(error: unknown): { code: string; message: string; exitCode: number } {
  if (error instanceof CommandError) return error
  if (error instanceof GridError || error instanceof ClientError || isStartError(error)) {
    return { code: error.code, message: error.message, exitCode: 1 }
  }
  if (error instanceof ConfigError) return { code: 'invalid_config', message: error.message, exitCode: 1 }
  // The user is the operator, so the message of the system or the database helps.
  return { code: 'internal', message: error instanceof Error ? error.message : String(error), exitCode: 1 }
}

/** By its name: its class comes with the database driver. */
function isStartError(error: unknown): error is StartError {
  return error instanceof Error && error.name === 'StartError'
}
