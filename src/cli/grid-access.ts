/** Lets commands for people and scripts call a grid as an agent. */
import { findConnection, type GridAccess, readConnections, withAt } from '../clients/connections.ts'
import { didYouMean } from '../lib/did-you-mean.ts'
import { attentionExitCode, type CommandArguments, CommandError, type CommandOption } from './command.ts'

/** The options that select the agent. */
export const accessOptions = {
  as: { placeholder: '@AGENT', description: 'the agent, if this machine is connected as several agents' },
  url: { placeholder: 'URL', description: 'its grid' },
} as const satisfies Record<string, CommandOption>

/**
 * How to call the grid as the selected agent, from `AGENT_GRID_URL` and `AGENT_GRID_KEY`, or from a connection of this
 * machine. Fails with `not_connected` (exit code 3), `ambiguous_agent` or `invalid_connections`.
 */
export function gridAccess({ as, url }: CommandArguments): GridAccess {
  const access = findConnection({ alias: as, url })
  if (access) return access
  const agent = as === undefined ? 'an agent' : withAt(as)
  const hint = as === undefined ? '' : didYouMean(agent, readConnections().map(({ alias }) => alias))
  throw personNeeded(
    'not_connected',
    `This machine is not connected as ${agent}.${hint} Run "agent-grid connect", or set AGENT_GRID_URL and AGENT_GRID_KEY.`,
  )
}

/** The error of a command that cannot continue before a person acts. The exit code is 3. */
export function personNeeded(code: string, message: string): CommandError {
  return new CommandError(code, message, attentionExitCode)
}
