/** Options that several commands have. */
import { GridError } from '../errors.ts'
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

export const guardrailOption = {
  placeholder: 'GUARDRAIL',
  description: 'name or ID of the guardrail',
  required: true,
} as const satisfies CommandOption

export const emailOption = {
  placeholder: 'EMAIL',
  description: 'email address of the user',
  required: true,
} as const satisfies CommandOption

/** The configuration of a provider, from the option `--config`. Fails with `invalid_input` unless it is JSON. */
export function readConfigOption(text = '{}'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new GridError('invalid_input', 'config: must be JSON', { field: 'config' })
  }
}
