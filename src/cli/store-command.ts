import { existsSync } from 'node:fs'
import process from 'node:process'
import type { Config } from '../config.ts'
import { coreHooks } from '../features.ts'
import { openAccount } from '../grid/accounts/accounts.ts'
import { recordActivity } from '../grid/activity.ts'
import type { AccountStore } from '../store/account.ts'
import { localPath } from '../store/driver/local-file.ts'
import { noDatabase } from '../store/start-error.ts'
import { openStore, type StoreOptions } from '../store/store.ts'
import { askHolder, isInUse } from './database-holder.ts'
import {
  accountOption,
  type CommandArguments,
  type CommandOptions,
  type CommandResult,
  type StoreCommand,
  storeCommand,
} from './command.ts'
import { processDeps } from './process.ts'
import { readConfig } from './settings.ts'

/**
 * Runs a command on the database: in this process, or in the server that holds the local file. Fails with the command's
 * error, with `no_database` if the database is missing, and with `database_in_use` if the process that holds the file
 * does not accept commands.
 */
export async function runStoreCommand(
  command: StoreCommand,
  args: CommandArguments,
  env: Record<string, string | undefined> = process.env,
  options: StoreOptions = {},
): Promise<CommandResult> {
  const config = readConfig(env)
  const path = localPath(config.databaseUrl)
  if (!command.beginsGrid?.(args) && path !== undefined && !existsSync(path)) throw noDatabase(path)
  try {
    return await runInProcess(config, command, args, options)
  } catch (error) {
    if (!isInUse(error)) throw error
    // Most likely a running server holds the file.
    return await askHolder(config, error, command, args)
  }
}

async function runInProcess(
  config: Config,
  command: StoreCommand,
  args: CommandArguments,
  options: StoreOptions,
): Promise<CommandResult> {
  const store = await openStore(processDeps(config), { hooks: coreHooks, ...options })
  try {
    return await command.run(store, args)
  } finally {
    await store.close()
  }
}

interface AccountCommand<
  O extends CommandOptions,
  Input extends Record<string, unknown>,
  Changed,
  R extends CommandResult,
> {
  name: string
  summary: string
  /** Options in addition to `--account`. */
  options: O
  /** The input of the change, for the activity log. */
  input(args: CommandArguments<O>): Input
  /** `args` may contain a secret, which must not be logged. */
  change(account: AccountStore, input: Input, args: CommandArguments<O>): Promise<Changed>
  result(changed: Changed, account: AccountStore): R
  print(result: R): string
}

/** A command that changes an account as the operator, recorded in the activity log with the actor `system`. */
export function accountCommand<
  const O extends CommandOptions,
  Input extends Record<string, unknown>,
  Changed,
  R extends CommandResult,
>(command: AccountCommand<O, Input, Changed, R>): StoreCommand {
  const { name, summary, options, change, result, print } = command
  return storeCommand({
    name,
    summary,
    options: { account: accountOption, ...options },
    async run(store, { account: id, ...others }) {
      const args = others as unknown as CommandArguments<O>
      const input = command.input(args)
      const account = await openAccount(store, String(id), { type: 'system', job: name })
      const call = { tool: name, arguments: input, requestId: null }
      return result(await recordActivity(account, call, () => change(account, input, args)), account)
    },
    print,
  })
}
