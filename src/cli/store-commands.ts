import type { StoreCommand } from './command.ts'
import {
  confirmClockCommand,
  rebuildConversationsCommand,
  rotateSigningKeyCommand,
  rotateStoredTokens,
} from './keys.ts'
import { copyDatabaseCommand, noteBackupCommand } from './copy-database.ts'
import {
  createAccountCommand,
  createAdminKeyCommand,
  createLinkCommand,
  deleteAdminKeyCommand,
  listAccountsCommand,
  listAdminKeysCommand,
  resetSecondFactorCommand,
} from './accounts.ts'
import {
  createAgentCommand,
  listParkedMessagesCommand,
  listPausedConversationsCommand,
  newKeyCommand,
  requeueMessagesCommand,
  resumeConversationCommand,
  setAutomatedCommand,
  setTurnLimitsCommand,
} from './agents.ts'
import { lookInside } from './doctor/database.ts'
import { migrateServed } from './migrate.ts'
import { tryGuardrailCommand } from './try-guardrail.ts'
import { tryRemoteCommand } from './try-remote.ts'

export const storeCommands: readonly StoreCommand[] = [
  createAccountCommand,
  listAccountsCommand,
  createAgentCommand,
  newKeyCommand,
  tryGuardrailCommand,
  tryRemoteCommand,
  setAutomatedCommand,
  setTurnLimitsCommand,
  listPausedConversationsCommand,
  resumeConversationCommand,
  listParkedMessagesCommand,
  requeueMessagesCommand,
  createAdminKeyCommand,
  listAdminKeysCommand,
  deleteAdminKeyCommand,
  createLinkCommand,
  resetSecondFactorCommand,
  rotateSigningKeyCommand,
  rebuildConversationsCommand,
  confirmClockCommand,
]

/** What a running server accepts from other processes: also what commands ask of it that run in their own process. */
export const serverCommands: readonly StoreCommand[] = [
  ...storeCommands,
  migrateServed,
  rotateStoredTokens,
  lookInside,
  copyDatabaseCommand,
  noteBackupCommand,
]
