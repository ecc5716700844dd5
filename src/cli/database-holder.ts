/** The server that holds the local file and runs commands for other processes. */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { localPath, readOwner } from '../store/driver/local-file.ts'
import { runOnServer } from './command-server.ts'
import type { CommandArguments, CommandResult, StoreCommand } from './command.ts'

/** Whether another process holds the local file. */
export function isInUse(error: unknown): boolean {
  return error instanceof GridError && error.code === 'database_in_use'
}

/** Runs a command in the server that holds the local file. Fails with `inUse` if it does not accept commands. */
export async function askHolder(
  config: Config,
  inUse: unknown,
  command: StoreCommand,
  args: CommandArguments,
): Promise<CommandResult> {
  const address = readOwner(localPath(config.databaseUrl)!)?.control
  const result = address && await runOnServer(address, command, args)
  if (!result) throw inUse
  return result
}
