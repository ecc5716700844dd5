import process from 'node:process'
import { type Config, readConfig } from '../config.ts'
import { GridError } from '../errors.ts'
import { localPath, readOwner } from '../store/driver/local-file.ts'
import { openStore } from '../store/store.ts'
import type { Arguments, Result, StoreCommand } from './command.ts'
import { runThere } from './control.ts'
import { processDeps } from './process.ts'

/**
 * Run a command on the database: here, or in the server that holds the local file.
 * Fails as the command does, and with `database_in_use` when the holder takes no commands.
 */
export async function runOnDatabase(command: StoreCommand, args: Arguments): Promise<Result> {
  // Not waiting for the lock: its holder is most likely the server that answers.
  const config: Config = { ...readConfig(process.env), lockWaitSeconds: 0 }
  try {
    return await runHere(config, command, args)
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'database_in_use') throw error
    const access = readOwner(localPath(config.databaseUrl)!)?.control
    const result = access && await runThere(access, command, args)
    if (!result) throw error
    return result
  }
}

async function runHere(config: Config, command: StoreCommand, args: Arguments): Promise<Result> {
  const store = await openStore(processDeps(config))
  try {
    return await command.run(store, args)
  } finally {
    await store.close()
  }
}
