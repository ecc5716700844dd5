import type { StoreCommand } from './command.ts'
import { confirmClockCommand } from './confirm-clock.ts'
import { copyDatabaseCommand, noteBackupCommand } from './copy-database.ts'
import { createAccountCommand } from './create-account.ts'
import { createAdminKeyCommand } from './create-admin-key.ts'
import { createAgentCommand } from './create-agent.ts'
import { createLinkCommand } from './create-link.ts'
import { deleteAdminKeyCommand } from './delete-admin-key.ts'
import { lookInside } from './doctor/inside.ts'
import { listAccountsCommand } from './list-accounts.ts'
import { listAdminKeysCommand } from './list-admin-keys.ts'
import { listParkedMessagesCommand } from './list-parked-messages.ts'
import { listPausedConversationsCommand } from './list-paused-conversations.ts'
import { applyMigrations } from './migrate.ts'
import { newKeyCommand } from './new-key.ts'
import { rebuildConversationsCommand } from './rebuild-conversations.ts'
import { requeueMessagesCommand } from './requeue-messages.ts'
import { resetSecondFactorCommand } from './reset-second-factor.ts'
import { resumeConversationCommand } from './resume-conversation.ts'
import { rotateKeysCommand } from './rotate-keys.ts'
import { rotateSigningKeyCommand } from './rotate-signing-key.ts'
import { setAutomatedCommand } from './set-automated.ts'
import { setTurnLimitsCommand } from './set-turn-limits.ts'
import { tryGuardrailCommand } from './try-guardrail.ts'

/** The commands on the database. */
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
