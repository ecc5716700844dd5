/** Options that several commands have. */
import type { CommandOption } from './command.ts'

export const accountOption = {
  placeholder: 'ID',
  description: 'ID of the account',
  required: true,
} as const satisfies CommandOption

export const agentOption = {
  placeholder: 'AGENT',
  description: 'alias or ID of the agent',
  required: true,
} as const satisfies CommandOption

export const emailOption = {
  placeholder: 'EMAIL',
  description: 'email address of the user',
  required: true,
} as const satisfies CommandOption
