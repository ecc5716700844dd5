import type { StoreCommand } from './command.ts'
import { createAccountCommand } from './create-account.ts'
import { createAdminKeyCommand } from './create-admin-key.ts'
import { createAgentCommand } from './create-agent.ts'
import { createChannelCommand } from './create-channel.ts'
import { migrate } from './migrate.ts'

/** The commands on the database, which a running server also takes. */
export const storeCommands: readonly StoreCommand[] = [
  createAccountCommand,
  createAgentCommand,
  createAdminKeyCommand,
  createChannelCommand,
  migrate,
]
