/** Which agent a command of the client program acts as. */
import {
  AmbiguousConnectionError,
  ConnectionsFileError,
  findConnection,
  type GridAccess,
} from '../clients/connections.ts'
import { attentionExitCode, type CommandArguments, CommandError, usageError } from './command.ts'

/** The options that choose the agent. */
export const agentOptions = {
  as: { placeholder: '@ALIAS', description: 'the agent; without it, the only one that is connected' },
  url: { placeholder: 'URL', description: 'its grid, if agents of several grids are connected' },
} as const

/** Find the agent. Fails with `not_connected`, or with `usage` if several are connected. */
export function agentAccess({ as: alias, url }: CommandArguments): GridAccess {
  try {
    const access = findConnection({ alias, url })
    if (access) return access
  } catch (error) {
    if (error instanceof AmbiguousConnectionError) throw usageError(error.message)
    if (error instanceof ConnectionsFileError) throw personNeeded('connections_damaged', error.message)
    throw error
  }
  throw personNeeded(
    'not_connected',
    `${alias === undefined ? 'No agent is' : `${alias} is not`} connected on this machine. ` +
      'Run "agent-grid connect" first, or set AGENT_GRID_URL and AGENT_GRID_KEY.',
  )
}

/** A command cannot go on before a person does something: exit code 3. */
export function personNeeded(code: string, message: string): CommandError {
  return new CommandError(code, message, attentionExitCode)
}
