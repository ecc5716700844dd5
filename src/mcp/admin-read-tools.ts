/** The admin tools that list. See docs/protocol.md, "Admin tools that list". */
import { z } from 'zod'
import type { Channel } from '../grid/channels/channels.ts'
import { listedProviders } from '../guardrails/providers.ts'
import { isoTime } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Agent } from '../store/account/agents.ts'
import { identifier, tool } from './tool.ts'

/** How many agents or channels one call lists: the default, and the maximum. */
const pageLimit = 10_000

const readOnly = { readOnlyHint: true, idempotentHint: true }
const noInput = z.strictObject({})
const pageInput = z.strictObject({
  limit: z.int().min(1).max(pageLimit).optional().describe(`How many at most; default ${pageLimit}`),
  cursor: identifier.optional().describe('next_cursor of the previous result, to get the next page'),
})
const pagingNote = `At most ${pageLimit} at once; if there are more, the result has next_cursor.`

/** An agent as admin tools return it. See docs/protocol.md, "Agent". */
export function asAgent(agent: Agent): Record<string, unknown> {
  const { id, alias, type, visibility, accessPolicy, description, remoteUrl, createdAt } = agent
  return {
    id,
    alias: `@${alias}`,
    type,
    visibility,
    accessPolicy,
    description,
    remoteUrl,
    createdAt: isoTime(createdAt),
  }
}

/** A channel as admin tools return it. See docs/protocol.md, "Channel". */
export function asChannel(channel: Channel): Record<string, unknown> {
  const { id, name, description, memberCount, externalIntegrationType, externalChannelName, createdAt } = channel
  return {
    id,
    name: `#${name}`,
    description,
    memberCount,
    externalIntegrationType,
    externalChannelName,
    createdAt: isoTime(createdAt),
  }
}

const listAgents = tool({
  name: 'admin_list_agents',
  title: 'List agents',
  description: `List the agents of the account by alias, without deleted ones, and their total. ${pagingNote}`,
  annotations: readOnly,
  input: pageInput,
  async run(account: AccountStore, { limit = pageLimit, cursor = '' }) {
    const [found, total] = await Promise.all([
      account.read.agents.page(cursor, limit + 1),
      account.read.agents.total(),
    ])
    return {
      text: {
        agents: found.slice(0, limit).map(asAgent),
        total,
        ...nextCursor(found, limit, (agent) => agent.alias),
      },
    }
  },
})

const listChannels = tool({
  name: 'admin_list_channels',
  title: 'List channels',
  description: `List the channels of the account by name, without deleted ones, and their total. ${pagingNote}`,
  annotations: readOnly,
  input: pageInput,
  async run(account: AccountStore, { limit = pageLimit, cursor = '' }) {
    const [found, total] = await Promise.all([
      account.read.channels.page(cursor, limit + 1),
      account.read.channels.total(),
    ])
    return {
      text: {
        channels: found.slice(0, limit).map(asChannel),
        total,
        ...nextCursor(found, limit, (channel) => channel.name),
      },
    }
  },
})

const listSkills = tool({
  name: 'admin_list_skills',
  title: 'List skills',
  description: 'List the skills of the account, with the number of agents each is attached to.',
  annotations: readOnly,
  input: noInput,
  async run(account: AccountStore) {
    const skills = await account.read.skills.withCounts()
    return { text: { skills, total: skills.length } }
  },
})

const listGuardrails = tool({
  name: 'admin_list_guardrails',
  title: 'List guardrails',
  description:
    'List the guardrails of the account, with provider, configuration and the number of agents each guards. Attach them with admin_set_agent_guardrails.',
  annotations: readOnly,
  input: noInput,
  async run(account: AccountStore) {
    const guardrails = await account.read.guardrails.list()
    return {
      text: {
        guardrails: guardrails.map(({ createdAt, ...guardrail }) => ({ ...guardrail, createdAt: isoTime(createdAt) })),
        total: guardrails.length,
      },
    }
  },
})

const listProviders = tool({
  name: 'admin_list_guardrail_providers',
  title: 'List guardrail providers',
  description:
    'List the providers a guardrail can use, with the JSON schema of each configuration. Guardrails are created on the web or the command line, not with these tools.',
  annotations: readOnly,
  input: noInput,
  run: (_account: AccountStore) => Promise.resolve({ text: { providers: listedProviders } }),
})

export const adminReadTools = [listAgents, listChannels, listSkills, listGuardrails, listProviders]

function nextCursor<Row>(found: Row[], limit: number, cursorOf: (row: Row) => string): { next_cursor?: string } {
  return found.length > limit ? { next_cursor: cursorOf(found[limit - 1]) } : {}
}
