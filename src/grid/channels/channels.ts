/** Channels: groups of agents in one account. See docs/protocol/messages.md, "Channels". */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { checkNewChannelName, normaliseAlias, normaliseChannelName } from '../../aliases.ts'
import { newId } from '../../lib/id.ts'
import { readPage } from '../../lib/read-page.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Wake } from '../../store/account/channels.ts'
import type { Agent } from '../../store/account/agents.ts'
import { checkDescription } from '../agents/agents.ts'
import { sanitized } from '../agents/skills.ts'
import { agentPage } from '../agent-page.ts'
import { authorize } from '../authorize.ts'
import { callingPersonAlias } from '../people/person-aliases.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

/** Maximum number of members of a channel. Limited because one write stores a message for all of them. */
export const maxMembers = 500

interface ListedChannel {
  name: string
  description: string
  /** Aliases with `@`, including the caller's. */
  members: string[]
}

/** Returns a page of the channels of the calling agent, sorted by name. The page begins at `cursor`. */
export async function listChannels(
  account: AccountStore,
  input: { cursor?: string } = {},
): Promise<{ channels: ListedChannel[]; cursor?: string }> {
  const { agentId } = callingAgent(account.actor)
  const source = {
    read: (after: string, limit: number) => account.read.channels.ofAgent(agentId, after, limit),
    keyOf: ({ name }: { name: string }) => name,
    entryOf: asListed,
  }
  const { entries, cursor } = await readPage(source, input.cursor, agentPage)
  return { channels: entries, cursor }
}

function asListed(channel: { name: string; description: string; members: string }): ListedChannel {
  const aliases: string[] = JSON.parse(channel.members)
  return {
    name: `#${channel.name}`,
    description: channel.description,
    members: aliases.sort().map((alias) => `@${alias}`),
  }
}

/** A channel in the results of admin tools. Times are milliseconds since the epoch. */
export interface Channel {
  id: string
  name: string
  description: string
  memberCount: number
  externalIntegrationType: string | null
  externalChannelName: string | null
  createdAt: number
}

/** Creates a channel and adds its members (ids or aliases), all or nothing. */
export async function createChannel(
  account: AccountStore,
  input: { name: string; description?: string; members?: string[] },
): Promise<{ channel: Channel; members: string[]; sanitized?: true }> {
  requireAdmin(account.actor)
  const channel: Channel = {
    id: newId(),
    name: checkNewChannelName(normaliseChannelName(input.name)),
    description: checkDescription(input.description),
    memberCount: 0,
    externalIntegrationType: null,
    externalChannelName: null,
    createdAt: account.deps.now(),
  }
  const { channels } = account.change

  return await retryOnConflict(async () => {
    const named = await account.read.channels.byRef('', channel.name)
    // The channel exists if an earlier attempt succeeded and its response was lost.
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
    return {
      channel: { ...channel, memberCount: ids.length },
      members: aliasesOf(members),
      ...(channel.description !== (input.description ?? '') && sanitized),
    }
  })
}

/** Soft-deletes a channel (id or name). It is not listed and accepts no messages; earlier messages stay readable. */
export async function deleteChannel(account: AccountStore, ref: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const { id } = await findChannel(account, ref)
    const { channels } = account.change
    const added = account.hooks.map(({ channelEnd }) => channelEnd?.(account, id) ?? [])
    await account.write([
      channels.requireLive(id),
      ...(await Promise.all(added)).flat(),
      channels.removeOtherMembers(id, []),
      channels.softDelete(id, account.deps.now()),
    ])
    return { id }
  })
}

/** Replaces the members of a channel (id or name) by these agents (ids or aliases), all or nothing. */
export async function setChannelMembers(
  account: AccountStore,
  input: { channel: string; members: string[] },
): Promise<{ channel: Channel; members: string[] }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const channel = await findChannel(account, input.channel)
    const members = await findMembers(account, input.members)
    const ids = members.map((member) => member.id)
    const { channels, agents } = account.change
    await account.write([
      channels.requireLive(channel.id),
      agents.requireLive(ids),
      channels.removeOtherMembers(channel.id, ids),
      channels.addMembers(channel.id, ids, account.deps.now()),
    ])
    return { channel: { ...channel, memberCount: ids.length }, members: aliasesOf(members) }
  })
}

/** Notifies the calling user of all posts in one of their channels, or only of posts that name them. */
export async function followChannel(account: AccountStore, channel: string, follows: boolean): Promise<void> {
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'use')
    const { id, name } = await findChannel(account, channel)
    const { agentId } = await callingPersonAlias(account)
    const written = await account.write([...precondition, account.change.channels.follow(id, agentId, follows)])
    if (written.at(-1)!.length === 0) throw new GridError('channel_not_found', `You are not a member of #${name}.`)
  })
}

export const wakes = ['all', 'mentions', 'none'] as const satisfies readonly Wake[]

/**
 * Chooses which posts of a channel wake a member. Admins choose for any agent, agents for themselves. Null is the
 * default: all posts in a channel of at most five members; in larger channels, posts that name or answer the agent.
 * Fails with `channel_not_found` or `not_channel_member`.
 */
export async function setWake(
  account: AccountStore,
  { channel, agent, wake }: { channel: string; agent?: string; wake: Wake | null },
): Promise<void> {
  const { actor } = account
  if (actor.type !== 'agent') requireAdmin(actor)
  const found = await findChannel(account, channel)
  const id = actor.type === 'agent' ? actor.agentId : (await findMembers(account, [agent ?? '']))[0].id
  const [rows] = await account.write([account.change.channels.setWake(found.id, id, wake)])
  if (rows.length > 0) return
  // To an agent, a channel looks missing if the agent is not a member.
  if (actor.type === 'agent') throw new GridError('channel_not_found', `Channel '${channel}' not found`)
  throw new GridError('not_channel_member', `The agent is not a member of #${found.name}.`)
}

/** Adds agents (ids or aliases) to a channel and removes others, all or nothing. Other members stay. */
export async function changeChannelMembers(
  account: AccountStore,
  input: { channel: string; add?: string[]; remove?: string[] },
): Promise<Channel> {
  requireAdmin(account.actor)
  if (!input.add?.length && !input.remove?.length) {
    throw invalidInput('Choose an agent or enter its alias.', 'members')
  }
  return await retryOnConflict(async () => {
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
      channels.removeMembers(channel.id, removed),
      channels.addMembers(channel.id, added, account.deps.now()),
      channels.requireAtMost(channel.id, maxMembers),
    ])
    return { ...channel, memberCount: ids.size }
  })
}

/** Changes the description of a channel (id or name). Its name cannot be changed, because messages contain it. */
export async function updateChannel(
  account: AccountStore,
  input: { channel: string; description: string },
): Promise<Channel> {
  requireAdmin(account.actor)
  const description = checkDescription(input.description)
  return await retryOnConflict(async () => {
    const channel = await findChannel(account, input.channel)
    const { channels } = account.change
    account.changed({ description: channel.description }, { description })
    await account.write([channels.requireLive(channel.id), channels.update(channel.id, description)])
    return { ...channel, description }
  })
}

async function findChannel(account: AccountStore, ref: string): Promise<Channel> {
  const channel = await account.read.channels.byRef(ref, normaliseChannelName(ref))
  if (!channel) throw new GridError('channel_not_found', `Channel '${ref}' not found`, { field: 'channel' })
  return channel
}

async function findMembers(account: AccountStore, refs: string[]): Promise<Agent[]> {
  if (refs.length > maxMembers) throw tooManyMembers()
  const found = await account.read.agents.byRefs(refs.map((ref) => ref.trim()), refs.map(normaliseAlias))
  const byRef = new Map(found.flatMap((agent) => [[agent.id, agent], [agent.alias, agent]]))
  const agents = refs.map((ref) => {
    const agent = byRef.get(ref.trim()) ?? byRef.get(normaliseAlias(ref))
    if (!agent) throw new GridError('agent_not_found', `Agent '${ref}' not found`, { field: 'members' })
    return agent
  })
  return [...new Set(agents)]
}

function tooManyMembers(): GridError {
  return invalidInput(`A channel can have at most ${maxMembers} members.`, 'members')
}

function aliasesOf(agents: Agent[]): string[] {
  return agents.map((agent) => `@${agent.alias}`)
}
