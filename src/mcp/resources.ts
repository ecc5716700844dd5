/**
 * An agent's resources: the first pages of `list_agents` and `list_channels`, and its unread count. MCP 2026-07-28,
 * "Resources".
 */
import { callingAgent } from '../auth/actor.ts'
import { agentPage } from '../grid/agent-page.ts'
import { inListSlot } from '../answers/room.ts'
import type { CallTrace } from '../call-trace.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { jsonLine } from '../lib/redact.ts'
import type { AccountStore } from '../store/account.ts'
import { listAgentsTool, listChannelsTool } from './agent-tools.ts'

/** An entry of `resources/list`. */
export interface ListedResource {
  uri: string
  name: string
  description: string
  mimeType: 'application/json'
}

/** Changes when a message arrives. Clients can subscribe to this resource only. */
export const inboxUri = 'grid://inbox'

const sources = new Map<string, (account: AccountStore) => Promise<unknown>>([
  ['grid://agents', async (account) => (await listAgentsTool.run(account, {}, { maxWaitSeconds: 0 })).text],
  ['grid://channels', async (account) => (await listChannelsTool.run(account, {}, { maxWaitSeconds: 0 })).text],
  [inboxUri, async (account) => ({ unread: await account.read.inbox.unread(callingAgent(account.actor).agentId) })],
])

export const listedResources: readonly ListedResource[] = [
  { uri: 'grid://agents', name: 'agents', description: 'Agents you can write to.', mimeType: 'application/json' },
  { uri: 'grid://channels', name: 'channels', description: 'Channels you are in.', mimeType: 'application/json' },
  { uri: inboxUri, name: 'inbox', description: 'How many unread messages you have.', mimeType: 'application/json' },
]

/** Reads a resource without leasing messages. Undefined if it does not exist. Fails with a `GridError`. */
export function readResource(
  account: AccountStore,
  uri: string,
  trace: CallTrace,
  connection?: CallerConnection,
): Promise<string> | undefined {
  const source = sources.get(uri)
  if (!source) return undefined
  const read = uri === inboxUri
    ? source(account)
    : inListSlot(account, connection, agentPage.bytes, () => source(account))
  return read.then(jsonLine, (error) => {
    throw trace.refusal(error)
  })
}
