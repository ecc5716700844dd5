/** Resources of an agent: the lists of its tools under an address of their own. MCP 2026-07-28, "Resources". */
import type { Log } from '../deps.ts'
import type { AccountStore } from '../store/account.ts'
import { asGridError } from '../wire.ts'
import { listAgentsTool, listChannelsTool } from './agent-tools.ts'

/** An entry of `resources/list`. */
export interface ListedResource {
  uri: string
  name: string
  description: string
  mimeType: 'application/json'
}

const sources = new Map([
  ['grid://agents', listAgentsTool],
  ['grid://channels', listChannelsTool],
])

export const listedResources: readonly ListedResource[] = [
  { uri: 'grid://agents', name: 'agents', description: 'Agents you can write to.', mimeType: 'application/json' },
  { uri: 'grid://channels', name: 'channels', description: 'Channels you are in.', mimeType: 'application/json' },
]

/** The JSON of the matching list tool; undefined when there is no such resource. Fails with a `GridError`. */
export function readResource(
  account: AccountStore,
  uri: string,
  log: Log,
  requestId: string,
): Promise<string> | undefined {
  return sources.get(uri)?.run(account, {}).then(({ text }) => JSON.stringify(text), (error) => {
    throw asGridError(error, log, requestId)
  })
}
