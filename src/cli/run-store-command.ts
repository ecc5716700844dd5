import { existsSync } from 'node:fs'
import process from 'node:process'
import { type Config, readConfig } from '../config.ts'
import { GridError } from '../errors.ts'
import { localPath, readOwner } from '../store/driver/local-file.ts'
import { noDatabase } from '../store/start-error.ts'
import { openStore } from '../store/store.ts'
import { runOnServer } from './command-server.ts'
import type { CommandArguments, CommandResult, StoreCommand } from './command.ts'
import { processDeps } from './process.ts'

/**
 * Run a command on the database: in this process, or in the server that holds the local file. Fails as the command
 * does, with `no_database` if it needs a grid and there is none, and with `database_in_use` if the process that holds the
 * file does not accept commands.
 */
export async function runStoreCommand(command: StoreCommand, args: CommandArguments): Promise<CommandResult> {
  // Do not wait for the lock: most likely a running server holds it, and runs the command.
  const config: Config = { ...readConfig(process.env), lockWaitSeconds: 0 }
  const path = localPath(config.databaseUrl)
  if (!command.beginsGrid && path !== undefined && !existsSync(path)) throw noDatabase(path)
  try {
    return await runInProcess(config, command, args)
  } catch (error) {
    if (!isInUse(error)) throw error
    return await askHolder(config, error, command, args)
  }
}

/** Whether another process holds the local file. */
export function isInUse(error: unknown): boolean {
  return error instanceof GridError && error.code === 'database_in_use'
}

/** Run a command in the server that holds the local file. Fails with `inUse` if it does not accept commands. */
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

async function runInProcess(config: Config, command: StoreCommand, args: CommandArguments): Promise<CommandResult> {
  const store = await openStore(processDeps(config))
  try {
    return await command.run(store, args)
  } finally {
    await store.close()
  }
}
