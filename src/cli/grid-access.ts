/** Calling a grid as an agent, from commands that people and scripts run. */
import { GridCallError, GridClient } from '../clients/grid-client.ts'
import {
  AmbiguousConnectionError,
  ConnectionsFileError,
  findConnection,
  type GridAccess,
  withAt,
} from '../clients/connections.ts'
import { attentionExitCode, type CommandArguments, CommandError, type CommandOption } from './command.ts'

/** The options that choose the agent. */
export const accessOptions = {
  as: { placeholder: '@AGENT', description: 'the agent, if this machine is connected as several' },
  url: { placeholder: 'URL', description: 'its grid' },
} as const satisfies Record<string, CommandOption>

/**
 * The agent that the options choose: that of `AGENT_GRID_URL` and `AGENT_GRID_KEY`, or one that this machine is connected
 * as. Fails with `CommandError`: with `not_connected` (exit code 3), `ambiguous_agent` or `invalid_connections`.
 */
export function gridAccess({ as, url }: CommandArguments): GridAccess {
  try {
    const access = findConnection({ alias: as, url })
    if (access) return access
  } catch (error) {
    if (error instanceof AmbiguousConnectionError) throw new CommandError('ambiguous_agent', error.message)
    if (error instanceof ConnectionsFileError) throw new CommandError('invalid_connections', error.message)
    throw error
  }
  throw personNeeded(
    'not_connected',
    `This machine is not connected as ${
      as === undefined ? 'an agent' : withAt(as)
    }. Run "agent-grid connect", or set AGENT_GRID_URL and AGENT_GRID_KEY.`,
  )
}

/** Call the grid that the options choose. Fails with `CommandError`, as `gridAccess` does or with the code of the grid. */
export async function callGrid<T>(args: CommandArguments, call: (client: GridClient) => Promise<T>): Promise<T> {
  const { url, key } = gridAccess(args)
  try {
    return await call(new GridClient({ url, key }))
  } catch (error) {
    if (error instanceof GridCallError) throw new CommandError(error.code, error.message)
    throw error
  }
}

/** A command cannot go on before a person does something: exit code 3. */
export function personNeeded(code: string, message: string): CommandError {
  return new CommandError(code, message, attentionExitCode)
}

/** Whether a call may be repeated: it was not answered, or the grid is busy. */
export function mayRepeat(error: unknown): error is GridCallError {
  return error instanceof GridCallError && (error.status === 0 || error.status === 429 || error.status >= 500)
}
