/** Which agent a hook is for. */
import { type ConnectionQuery, findConnection, type Wake } from '../connections.ts'
import type { GridAgent } from '../state/paths.ts'
import type { HookInput, HookWords } from './call.ts'

/** An agent whose key is on this machine. */
export interface HookConnection extends GridAgent {
  key: string
  /** `auto`: sessions are told and woken; `start`: they are told; `off`: neither. */
  wake: Wake
}

/** The connection of a hook; undefined if there is none. Fails if several match. */
export function hookConnection({ client, as, url }: HookWords, { cwd }: HookInput): HookConnection | undefined {
  const query: ConnectionQuery = { client, alias: as, url, cwd }
  const access = findConnection(query)
  return access?.alias === undefined
    ? undefined
    : { url: access.url, key: access.key, alias: access.alias, wake: access.connection?.wake ?? 'auto' }
}
