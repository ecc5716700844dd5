import type { StoreCommand } from './command.ts'
import { confirmClockCommand, rebuildConversationsCommand } from './maintenance.ts'
import { copyDatabaseCommand, noteBackupCommand } from './copy-database.ts'
import { createAccountCommand, listAccountsCommand } from './accounts.ts'
import { createAdminKeyCommand, deleteAdminKeyCommand, listAdminKeysCommand } from './admin-keys.ts'
import { createAgentCommand, newKeyCommand } from './agents.ts'
import { createLinkCommand, resetSecondFactorCommand } from './sign-in.ts'
import { lookInside } from './doctor/database.ts'
import { listParkedMessagesCommand, requeueMessagesCommand } from './parked-messages.ts'
import {
  listPausedConversationsCommand,
  resumeConversationCommand,
  setAutomatedCommand,
  setTurnLimitsCommand,
} from './runaway-conversations.ts'
import { applyMigrations } from './migrate.ts'
import { rotateKeysCommand, rotateSigningKeyCommand } from './keys.ts'
import { tryGuardrailCommand } from './try-guardrail.ts'

export const storeCommands: readonly StoreCommand[] = [
  createAccountCommand,
  listAccountsCommand,
  createAgentCommand,
  newKeyCommand,
  tryGuardrailCommand,
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
  rotateKeysCommand,
  rotateSigningKeyCommand,
  rebuildConversationsCommand,
  confirmClockCommand,
]

/** What a running server accepts from other processes: also what commands ask of it that run in their own process. */
export const serverCommands: readonly StoreCommand[] = [
  ...storeCommands,
  applyMigrations,
  lookInside,
  copyDatabaseCommand,
  noteBackupCommand,
]
