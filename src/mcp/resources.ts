/** Resources of an agent: the lists of its tools under an address of their own, and how much mail waits. MCP 2026-07-28, "Resources". */
import type { Log } from '../deps.ts'
import type { AccountStore } from '../store/account.ts'
import { asGridError } from '../wire.ts'
import { callingAgent } from '../auth/actor.ts'
import { listAgentsTool, listChannelsTool } from './agent-tools.ts'

/** An entry of `resources/list`. */
export interface ListedResource {
  uri: string
  name: string
  description: string
  mimeType: 'application/json'
}

/** The resource that changes when mail comes, and the only one that can be subscribed to. */
export const inboxUri = 'grid://inbox'

const sources = new Map<string, (account: AccountStore) => Promise<unknown>>([
  ['grid://agents', async (account) => (await listAgentsTool.run(account, {}, { maxWaitSeconds: 0 })).text],
  ['grid://channels', async (account) => (await listChannelsTool.run(account, {}, { maxWaitSeconds: 0 })).text],
  [inboxUri, async (account) => ({ unread: await account.read.mailbox.unread(callingAgent(account.actor).agentId) })],
])

export const listedResources: readonly ListedResource[] = [
  { uri: 'grid://agents', name: 'agents', description: 'Agents you can write to.', mimeType: 'application/json' },
  { uri: 'grid://channels', name: 'channels', description: 'Channels you are in.', mimeType: 'application/json' },
  { uri: inboxUri, name: 'inbox', description: 'How much mail waits for you.', mimeType: 'application/json' },
]

/** The JSON of a resource, which hands out no mail; undefined when there is no such resource. Fails with a `GridError`. */
export function readResource(
  account: AccountStore,
  uri: string,
  log: Log,
  requestId: string,
): Promise<string> | undefined {
  return sources.get(uri)?.(account).then((value) => JSON.stringify(value), (error) => {
    throw asGridError(error, log, requestId)
  })
}
