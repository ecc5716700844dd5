import { features } from '../features.ts'
import * as accounts from './accounts.ts'
import * as agents from './agents.ts'
import type { StoreCommand } from './command.ts'
import { copyDatabaseCommand, noteBackupCommand } from './copy-database.ts'
import { lookInside } from './doctor/database.ts'
import { repairs } from './doctor/repairs.ts'
import * as keys from './keys.ts'
import { migrateServed } from './migrate.ts'
import { tryGuardrailCommand } from './try-guardrail.ts'
import { tryRemoteCommand } from './try-remote.ts'

export const storeCommands: readonly StoreCommand[] = [
  accounts.createAccountCommand,
  accounts.listAccountsCommand,
  agents.createAgentCommand,
  agents.newKeyCommand,
  tryGuardrailCommand,
  tryRemoteCommand,
  agents.setAutomatedCommand,
  agents.setTurnLimitsCommand,
  agents.listPausedConversationsCommand,
  agents.resumeConversationCommand,
  agents.listParkedMessagesCommand,
  agents.requeueMessagesCommand,
  accounts.createAdminKeyCommand,
  accounts.listAdminKeysCommand,
  accounts.deleteAdminKeyCommand,
  accounts.createLinkCommand,
  accounts.resetSecondFactorCommand,
  accounts.stopRequiringSsoCommand,
  accounts.eraseWordsCommand,
  accounts.deleteAccountCommand,
  accounts.restoreAccountCommand,
  accounts.setLimitsCommand,
  accounts.usageCommand,
]

/** The commands that a running server accepts, including internal ones that process commands send. */
export const serverCommands: readonly StoreCommand[] = [
  ...storeCommands,
  migrateServed,
  keys.rotateStoredTokens,
  lookInside,
  ...repairs,
  copyDatabaseCommand,
  noteBackupCommand,
  ...features.flatMap(({ serverCommands }) => serverCommands ?? []),
]
