/** Channels: groups of agents of one account. */
import { callingAgent, requireAdmin } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import { newId } from '../lib/id.ts'
import type { AccountStore } from '../store/account.ts'
import { bareAlias, bareChannelName, checkNewChannelName } from './alias.ts'
import { checkDescription } from './agents.ts'

/** Most members of a channel: a post is stored for all of them in one write. */
export const maxMembers = 500

/** A channel the caller is in. */
export interface ListedChannel {
  /** With `#`. */
  name: string
  description: string
  /** Aliases with `@`, the caller's too. */
  members: string[]
}

/** The calling agent's channels, by name. */
export async function listChannels(account: AccountStore): Promise<ListedChannel[]> {
  const { agentId } = callingAgent(account.actor)
  const [channels, members] = await Promise.all([
    account.read.channels.ofAgent(agentId),
    account.read.channels.memberAliases(agentId),
  ])
  const aliases = new Map<string, string[]>(channels.map((channel) => [channel.id, []]))
  for (const { channelId, alias } of members) aliases.get(channelId)?.push(`@${alias}`)
  return channels.map(({ id, name, description }) => ({ name: `#${name}`, description, members: aliases.get(id)! }))
}

/**
 * Create a channel, with its members in the same write.
 * Fails with `wrong_credential`, `invalid_input`, `channel_taken` or `agent_not_found`.
 *
 * Spec: "Channel".
 */
export async function createChannel(
  account: AccountStore,
  input: { name: string; description?: string; members?: string[] },
): Promise<{ id: string; name: string; members: string[] }> {
  requireAdmin(account.actor)
  const name = checkNewChannelName(bareChannelName(input.name))
  const members = [...new Set((input.members ?? []).map(bareAlias))]
  if (members.length > maxMembers) {
    throw new GridError('invalid_input', `A channel has at most ${maxMembers} members.`, { field: 'members' })
  }
  const channel = { id: newId(), name, description: checkDescription(input.description) }
  const at = account.deps.now()

  const agents = await Promise.all(members.map((alias) => account.read.agents.byAlias(alias)))
  const unknown = members.find((_, i) => !agents[i])
  if (unknown !== undefined) {
    throw new GridError('agent_not_found', `Agent '@${unknown}' not found`, { field: 'members' })
  }

  try {
    await account.write([
      account.change.channels.add(channel, at),
      ...agents.map((agent) => account.change.channels.addMember(channel.id, agent!.id, at)),
    ])
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
    // Repeated after a lost answer, the write met its own channel: then it is done.
    const { id } = await account.read.channels.byName(name, '') ?? {}
    if (id !== channel.id) {
      throw new GridError('channel_taken', `The account has a channel #${name}. Choose another name.`, {
        field: 'name',
      })
    }
  }
  return { id: channel.id, name: `#${name}`, members: members.map((alias) => `@${alias}`) }
}
