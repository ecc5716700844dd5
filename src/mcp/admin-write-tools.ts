/** Admin tools that make changes. See docs/protocol/mcp.md, "Tools of admins". */
import * as z from 'zod'
import { createAgent, deleteAgent, maxAccessList, maxDescriptionLength } from '../grid/agents/agents.ts'
import { maxSkills, setAgentSkills } from '../grid/agents/skills.ts'
import { createChannel, deleteChannel, maxMembers, setChannelMembers } from '../grid/channels/channels.ts'
import { readCardAgain } from '../grid/remote-agents/manage.ts'
import { maxAttached, setAgentGuardrails } from '../grid/guardrails/guardrails.ts'
import { aliasPattern } from '../aliases.ts'
import type { Arguments } from '../lib/given-arguments.ts'
import { atMost, identifier, requiredIdentifier as ref } from '../lib/input.ts'
import { asAgent, asChannel } from './admin-read-tools.ts'
import { renamed, tool } from './tool.ts'
import type { AccountStore } from '../store/account.ts'

/** The schema only documents this length. The operations count a description without its invisible characters. */
const description = z.string().meta({ maxLength: maxDescriptionLength }).optional()
const skillName = atMost(z.string().min(1), 64)
const skill = z.union([skillName, z.strictObject({ name: skillName, description })])
const members = z.array(ref).max(maxMembers)
const guardrail = z.union([
  ref,
  oneOf({
    id: ref.optional(),
    name: ref.optional(),
    direction: z.enum(['inbound', 'outbound', 'both']).optional().describe(
      'Checks messages to the agent (inbound), from the agent (outbound), or both (default)',
    ),
    action: z.enum(['block', 'hold', 'redact', 'flag']).optional().describe("Overrides the guardrail's action"),
  }, 'name'),
])

const agentRef = {
  id: ref.optional().describe('Id of the agent; give this or alias'),
  alias: ref.optional().describe('Alias of the agent, with or without @; give this or id'),
}
const channelRef = {
  id: ref.optional().describe('Id of the channel; give this or name'),
  name: ref.optional().describe('Name of the channel, with or without #; give this or id'),
}

/** Creation tools return the id as `agent_id` or `channel_id`, so these names are accepted as well. */
const byAgentId = (args: Arguments) => renamed(args, 'agent_id', 'id')
const byChannelId = (args: Arguments) => renamed(args, 'channel_id', 'id')

/** Only documents the pattern. `createAgent` and `createChannel` validate it, with their own error codes. */
const newName = (sign: '@' | '#', about: string) =>
  z.string().meta({ pattern: aliasPattern.source.replace('^', `^${sign}?`), description: about })

const replaces = { destructiveHint: true, idempotentHint: true }
const deletes = { destructiveHint: true, idempotentHint: false }
const creates = { destructiveHint: false, idempotentHint: false }

const createAgentTool = tool({
  name: 'admin_create_agent',
  title: 'Create agent',
  description: 'Create an agent. The result has its api_key, which works at once and is not shown again.',
  annotations: creates,
  input: z.strictObject({
    alias: newName('@', 'Its address: 3 to 32 characters of a-z, 0-9 and -, unique on the grid'),
    type: z.enum(['mcp', 'a2a']).optional().describe(
      'mcp (default): an agent that reads its messages here; a2a: a remote agent at remoteUrl',
    ),
    visibility: z.enum(['private', 'public']).optional().describe(
      'private (default): agents of this account, and agents that it wrote to, can write to it; public: agents of other accounts can too',
    ),
    accessPolicy: z.enum(['auto_approve', 'allow_list', 'block_list']).optional().describe(
      'Which agents of other accounts may write to a public agent. auto_approve (default): all; allow_list: only listed aliases; block_list: all except listed aliases',
    ),
    accessList: z.array(identifier).max(maxAccessList).optional().describe(
      'Aliases of agents in other accounts, for allow_list or block_list',
    ),
    description,
    remoteUrl: atMost(z.string(), 2_000).optional().describe('https URL; required for type a2a, refused for others'),
    remoteToken: atMost(z.string().min(1), 4_000).optional().describe(
      'Bearer token for the agent at remoteUrl; not shown again. If the agent is public, messages from other accounts use it too',
    ),
    skills: z.array(skill).max(maxSkills).optional().describe('Its skills: names, or names with descriptions'),
  }),
  async run(account: AccountStore, { skills, ...input }) {
    const { agent, apiKey, ...rest } = await createAgent(account, { ...input, skills: skills?.map(asSkill) })
    const found = agent.type === 'a2a' ? await readCardAgain(account, agent.id) : {}
    return { text: { agent: asAgent(agent), agent_id: agent.id, api_key: apiKey, ...rest, ...found } }
  },
})

const deleteAgentTool = tool({
  name: 'admin_delete_agent',
  title: 'Delete agent',
  description:
    'Delete one agent, by id or alias. Its keys are revoked at once, it leaves its channels, and its unread messages are parked. Messages it sent stay readable, and its alias stays reserved for this account.',
  annotations: deletes,
  input: oneOf(agentRef, 'alias'),
  rename: byAgentId,
  async run(account: AccountStore, { id, alias }) {
    const deleted = await deleteAgent(account, (id ?? alias)!)
    return { text: { deleted: true, id: deleted.id } }
  },
})

const createChannelTool = tool({
  name: 'admin_create_channel',
  title: 'Create channel',
  description:
    'Create a channel, optionally with members. Members can post to it and receive the posts of other members. If a member is unknown, nothing is created.',
  annotations: creates,
  input: z.strictObject({
    name: newName('#', '3 to 32 characters of a-z, 0-9 and -, unique in the account'),
    description,
    members: members.optional().describe("The account's agents, each by id or alias"),
  }),
  async run(account: AccountStore, input) {
    const { channel, sanitized } = await createChannel(account, input)
    return { text: { channel: asChannel(channel), channel_id: channel.id, sanitized } }
  },
})

const deleteChannelTool = tool({
  name: 'admin_delete_channel',
  title: 'Delete channel',
  description: 'Delete one channel, by id or name. Agents that received its posts can still read them.',
  annotations: deletes,
  input: oneOf(channelRef, 'name'),
  rename: byChannelId,
  async run(account: AccountStore, { id, name }) {
    return { text: { deleted: true, ...await deleteChannel(account, (id ?? name)!) } }
  },
})

const setAgentSkillsTool = tool({
  name: 'admin_set_agent_skills',
  title: 'Set skills of an agent',
  description:
    'Replace all skills of one agent, given by id or alias. Skills new to the account are created; existing skills keep their description.',
  annotations: replaces,
  input: oneOf({
    ...agentRef,
    skills: z.array(skill).max(maxSkills).describe(
      'The complete new list: names, or names with descriptions; empty to remove all',
    ),
  }, 'alias'),
  rename: byAgentId,
  async run(account: AccountStore, { id, alias, skills }) {
    const set = await setAgentSkills(account, { agent: (id ?? alias)!, skills: skills.map(asSkill) })
    return { text: { ...set, agent: asAgent(set.agent) } }
  },
})

const setAgentGuardrailsTool = tool({
  name: 'admin_set_agent_guardrails',
  title: 'Set guardrails of an agent',
  description:
    'Replace all guardrails of one agent, given by id or alias. The guardrails must exist in the account (admin_list_guardrails); if one is unknown, nothing changes.',
  annotations: replaces,
  input: oneOf({
    ...agentRef,
    guardrails: z.array(guardrail).max(maxAttached).describe(
      'The complete new list: ids or names, or objects with id or name; empty to remove all',
    ),
  }, 'alias'),
  rename: byAgentId,
  async run(account: AccountStore, { id, alias, guardrails }) {
    const set = await setAgentGuardrails(account, { agent: (id ?? alias)!, guardrails: guardrails.map(asAttachment) })
    return { text: { agent: asAgent(set.agent), guardrails: set.guardrails } }
  },
})

const setChannelMembersTool = tool({
  name: 'admin_set_channel_members',
  title: 'Set members of a channel',
  description: 'Replace all members of one channel, given by id or name. If a member is unknown, nothing changes.',
  annotations: replaces,
  input: oneOf({
    ...channelRef,
    members: members.describe('The complete new list: agents of the account, each by id or alias; empty to remove all'),
  }, 'name'),
  rename: byChannelId,
  async run(account: AccountStore, { id, name, members }) {
    const set = await setChannelMembers(account, { channel: (id ?? name)!, members })
    return { text: { channel: asChannel(set.channel), members: set.members } }
  },
})

export const adminWriteTools = [
  createAgentTool,
  deleteAgentTool,
  createChannelTool,
  deleteChannelTool,
  setAgentSkillsTool,
  setAgentGuardrailsTool,
  setChannelMembersTool,
]

/**
 * Exactly one of `id` and `other` is required. Only the descriptions state this, because clients reject a schema with
 * `oneOf` at the root.
 */
function oneOf<Shape extends z.ZodRawShape>(shape: Shape, other: 'alias' | 'name') {
  return z.strictObject(shape).refine((input) => {
    const { id, [other]: named } = input as Record<string, unknown>
    return (id === undefined) !== (named === undefined)
  }, `needs either id or ${other}, and not both`)
}

function asSkill(given: z.output<typeof skill>) {
  return typeof given === 'string' ? { name: given } : given
}

function asAttachment(given: z.output<typeof guardrail>) {
  if (typeof given === 'string') return { ref: given }
  const { id, name, direction, action } = given
  return { ref: (id ?? name)!, direction, action }
}
