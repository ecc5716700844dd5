/** Channels: groups of agents of one account. */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'
import { bareAlias, bareChannelName, checkNewChannelName } from '../agents/alias.ts'
import { checkDescription } from '../agents/agents.ts'
import { againOnConflict } from '../retry-on-conflict.ts'

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

/** Fields of a channel in admin answers. Spec: "Channel". Times are milliseconds since the epoch. */
export interface Channel {
  id: string
  /** Without `#`. */
  name: string
  description: string
  memberCount: number
  externalIntegrationType: string | null
  externalChannelName: string | null
  createdAt: number
}

/**
 * Create a channel, with its members (ids or aliases) in the same write.
 * Fails with `wrong_credential`, `invalid_input`, `channel_taken` or `agent_not_found`.
 *
 * Spec: "Channel".
 */
export async function createChannel(
  account: AccountStore,
  input: { name: string; description?: string; members?: string[] },
): Promise<{ channel: Channel; members: string[] }> {
  requireAdmin(account.actor)
  const channel: Channel = {
    id: newId(),
    name: checkNewChannelName(bareChannelName(input.name)),
    description: checkDescription(input.description),
    memberCount: 0,
    externalIntegrationType: null,
    externalChannelName: null,
    createdAt: account.deps.now(),
  }
  const { channels } = account.change

  return await againOnConflict(async () => {
    const named = await account.read.channels.byRef('', channel.name)
    // Repeated after a lost answer, the write met its own channel: then it is done.
    if (named && named.id !== channel.id) {
      throw new GridError('channel_taken', `The account has a channel #${channel.name}. Choose another name.`, {
        field: 'name',
      })
    }
    const members = await findMembers(account, input.members ?? [])
    const ids = members.map((member) => member.id)
    if (!named) {
      await account.write([
        channels.add(channel, channel.createdAt),
        account.change.agents.requireLive(ids),
        channels.addMembers(channel.id, ids, channel.createdAt),
      ])
    }
    return { channel: { ...channel, memberCount: ids.length }, members: aliasesOf(members) }
  })
}

/**
 * Soft-delete a channel (id or name): it leaves every listing and takes no more posts; what was posted stays readable.
 * Fails with `wrong_credential` or `channel_not_found`.
 */
export async function deleteChannel(account: AccountStore, ref: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  return await againOnConflict(async () => {
    const { id } = await findChannel(account, ref)
    const { channels } = account.change
    await account.write([
      channels.requireLive(id),
      channels.removeMembers(id),
      channels.softDelete(id, account.deps.now()),
    ])
    return { id }
  })
}

/**
 * Replace the members of a channel (id or name) by these agents (ids or aliases): all or nothing.
 * Fails with `wrong_credential`, `channel_not_found`, `agent_not_found` or `invalid_input`.
 */
export async function setChannelMembers(
  account: AccountStore,
  input: { channel: string; members: string[] },
): Promise<{ channel: Channel; members: string[] }> {
  requireAdmin(account.actor)
  return await againOnConflict(async () => {
    const channel = await findChannel(account, input.channel)
    const members = await findMembers(account, input.members)
    const ids = members.map((member) => member.id)
    const { channels, agents } = account.change
    await account.write([
      channels.requireLive(channel.id),
      agents.requireLive(ids),
      channels.removeMembers(channel.id),
      channels.addMembers(channel.id, ids, account.deps.now()),
    ])
    return { channel: { ...channel, memberCount: ids.length }, members: aliasesOf(members) }
  })
}

/**
 * Put agents (ids or aliases) into a channel and take others out, whoever else is in it: all or nothing.
 * Fails with `wrong_credential`, `not_allowed`, `channel_not_found`, `agent_not_found` or `invalid_input`.
 */
export async function changeChannelMembers(
  account: AccountStore,
  input: { channel: string; add?: string[]; remove?: string[] },
): Promise<Channel> {
  requireAdmin(account.actor)
  if (!input.add?.length && !input.remove?.length) {
    throw new GridError('invalid_input', 'Choose an agent, or write its alias.', { field: 'members' })
  }
  return await againOnConflict(async () => {
    const channel = await findChannel(account, input.channel)
    const added = (await findMembers(account, input.add ?? [])).map(({ id }) => id)
    const removed = (await findMembers(account, input.remove ?? [])).map(({ id }) => id)
    const ids = new Set((await account.read.channels.members(channel.id, maxMembers)).map(({ id }) => id))
    for (const id of removed) ids.delete(id)
    for (const id of added) ids.add(id)
    if (ids.size > maxMembers) throw tooManyMembers()
    const { channels, agents } = account.change
    await account.write([
      channels.requireLive(channel.id),
      agents.requireLive(added),
      channels.removeSome(channel.id, removed),
      channels.addMembers(channel.id, added, account.deps.now()),
      channels.requireAtMost(channel.id, maxMembers),
    ])
    return { ...channel, memberCount: ids.size }
  })
}

/**
 * Describe a channel (id or name) anew. Its name stays: messages carry it.
 * Fails with `wrong_credential`, `not_allowed`, `channel_not_found` or `invalid_input`.
 */
export async function updateChannel(
  account: AccountStore,
  input: { channel: string; description: string },
): Promise<Channel> {
  requireAdmin(account.actor)
  const description = checkDescription(input.description)
  return await againOnConflict(async () => {
    const channel = await findChannel(account, input.channel)
    const { channels } = account.change
    await account.write([channels.requireLive(channel.id), channels.update(channel.id, description)])
    return { ...channel, description }
  })
}

async function findChannel(account: AccountStore, ref: string): Promise<Channel> {
  const channel = await account.read.channels.byRef(ref, bareChannelName(ref))
  if (!channel) throw new GridError('channel_not_found', `Channel '${ref}' not found`, { field: 'channel' })
  return channel
}

/** Each agent once, however often and in whatever spelling it is named. */
async function findMembers(account: AccountStore, refs: string[]): Promise<Agent[]> {
  if (refs.length > maxMembers) throw tooManyMembers()
  const found = await account.read.agents.byRefs(refs.map((ref) => ref.trim()), refs.map(bareAlias))
  const byRef = new Map(found.flatMap((agent) => [[agent.id, agent], [agent.alias, agent]]))
  const agents = refs.map((ref) => {
    const agent = byRef.get(ref.trim()) ?? byRef.get(bareAlias(ref))
    if (!agent) throw new GridError('agent_not_found', `Agent '${ref}' not found`, { field: 'members' })
    return agent
  })
  return [...new Set(agents)]
}

function tooManyMembers(): GridError {
  return new GridError('invalid_input', `A channel has at most ${maxMembers} members.`, { field: 'members' })
}

function aliasesOf(agents: Agent[]): string[] {
  return agents.map((agent) => `@${agent.alias}`)
}
