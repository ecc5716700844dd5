/** Calling a grid as an agent, from commands that people and scripts run. */
import { GridCallError, GridClient } from '../clients/grid-client.ts'
import { AmbiguousConnectionError, ConnectionsFileError, findConnection } from '../clients/connections.ts'
import { type CommandArguments, CommandError, type CommandOption } from './command.ts'

/** The options that choose the agent. */
export const accessOptions = {
  as: { placeholder: '@AGENT', description: 'the agent, if this machine is connected as several' },
  url: { placeholder: 'URL', description: 'its grid' },
} as const satisfies Record<string, CommandOption>

/**
 * Call the grid that the options choose: that of `AGENT_GRID_URL` and `AGENT_GRID_KEY`, or one that this machine is
 * connected to. Fails with `CommandError`: with `not_connected`, `ambiguous_agent`, or the code of the grid.
 */
export async function callGrid<T>({ as, url }: CommandArguments, call: (client: GridClient) => Promise<T>): Promise<T> {
  try {
    const access = findConnection({ alias: as, url })
    if (!access) {
      throw new CommandError(
        'not_connected',
        'This machine is not connected as such an agent. Run "agent-grid connect", or set AGENT_GRID_URL and AGENT_GRID_KEY.',
      )
    }
    return await call(new GridClient({ url: access.url, key: access.key }))
  } catch (error) {
    if (error instanceof GridCallError) throw new CommandError(error.code, error.message)
    if (error instanceof AmbiguousConnectionError) throw new CommandError('ambiguous_agent', error.message)
    if (error instanceof ConnectionsFileError) throw new CommandError('invalid_connections', error.message)
    throw error
  }
}

/** Whether a call may be repeated: it was not answered, or the grid is busy. */
export function mayRepeat(error: unknown): error is GridCallError {
  return error instanceof GridCallError && (error.status === 0 || error.status === 429 || error.status >= 500)
}
