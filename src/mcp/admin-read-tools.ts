/** The admin tools that list. See docs/protocol/mcp.md, "Tools of admins". */
import * as z from 'zod'
import type { Channel } from '../grid/channels/channels.ts'
import { listBytes, listGuardrails } from '../grid/guardrails/list-guardrails.ts'
import { listedProviders } from '../guardrails/providers.ts'
import { withoutInvisible } from '../lib/invisible-text.ts'
import { type Page, type PageBudget, readPage } from '../lib/read-page.ts'
import { isoTime } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Agent } from '../store/account/agents.ts'
import { identifier } from '../lib/input.ts'
import { tool, type ToolOutput } from './tool.ts'

/** Agents or channels in one call: the default, and the maximum. */
const pageLimit = 10_000
const pageBytes = 1_000_000
const chunk = 500

const readOnly = { readOnlyHint: true, idempotentHint: true }
const noInput = z.strictObject({})
const cursor = identifier.optional().describe('next_cursor of the previous result, to get the next page')
const cursorInput = z.strictObject({ cursor })
const pageInput = z.strictObject({
  limit: z.int().min(1).max(pageLimit).optional().describe(`How many at most; default ${pageLimit}`),
  cursor,
})
const pagingNote = 'At most 1 MB at once; if there are more, the result has next_cursor.'

/** An agent as admin tools return it. See docs/protocol/messages.md, "Agents". */
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

/** A channel as admin tools return it. See docs/protocol/messages.md, "Channels". */
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
  listBytes: pageBytes,
  async run({ read: { agents } }: AccountStore, { limit, cursor }) {
    const source = { read: agents.page, keyOf: ({ alias }: Agent) => alias, entryOf: asAgent }
    return await listing('agents', readPage(source, cursor, budget(chunk, limit)), agents.total())
  },
})

const listChannels = tool({
  name: 'admin_list_channels',
  title: 'List channels',
  description: `List the channels of the account by name, without deleted ones, and their total. ${pagingNote}`,
  annotations: readOnly,
  input: pageInput,
  listBytes: pageBytes,
  async run({ read: { channels } }: AccountStore, { limit, cursor }) {
    const source = { read: channels.page, keyOf: nameOf, entryOf: asChannel }
    return await listing('channels', readPage(source, cursor, budget(chunk, limit)), channels.total())
  },
})

const listSkills = tool({
  name: 'admin_list_skills',
  title: 'List skills',
  description: `List the skills of the account, with the number of agents each is attached to. ${pagingNote}`,
  annotations: readOnly,
  input: cursorInput,
  listBytes: pageBytes,
  async run({ read: { skills } }: AccountStore, { cursor }) {
    const source = { read: skills.withCounts, keyOf: nameOf, entryOf: asSkill }
    return await listing('skills', readPage(source, cursor, budget(chunk)), skills.searchTotal(''))
  },
})

const listGuardrailsTool = tool({
  name: 'admin_list_guardrails',
  title: 'List guardrails',
  description:
    `List the guardrails of the account, with provider, configuration and the number of agents each guards. Attach them with admin_set_agent_guardrails. ${pagingNote}`,
  annotations: readOnly,
  input: cursorInput,
  listBytes,
  async run(account: AccountStore, { cursor }) {
    return { text: await listGuardrails(account, { cursor }) }
  },
})

const listProviders = tool({
  name: 'admin_list_guardrail_providers',
  title: 'List guardrail providers',
  description:
    'List the providers a guardrail can use, with the JSON schema of each configuration. Guardrails are created on the web or over REST, not with these tools.',
  annotations: readOnly,
  input: noInput,
  run: (_account: AccountStore) => Promise.resolve({ text: { providers: listedProviders } }),
})

export const adminReadTools = [listAgents, listChannels, listSkills, listGuardrailsTool, listProviders]

interface Named {
  name: string
}

/** Names from older versions may have invisible characters. */
function asSkill<Skill extends Named>(skill: Skill): Skill {
  return { ...skill, name: withoutInvisible(skill.name) }
}

const nameOf = ({ name }: Named) => name

function budget(chunk: number, entries = pageLimit): PageBudget {
  return { entries, bytes: pageBytes, chunk }
}

async function listing(name: string, reading: Promise<Page<unknown>>, counting: Promise<number>): Promise<ToolOutput> {
  const [{ entries, cursor }, total] = await Promise.all([reading, counting])
  return { text: { [name]: entries, total, ...(cursor !== undefined && { next_cursor: cursor }) } }
}
