/** Agent operations for an admin's programs: settings for A2A responses, and session keys. */
import * as z from 'zod'
import { addKeyOrAgent, updateAgent } from '../grid/agents/agent-settings.ts'
import { type Route, route } from './route.ts'

const settings = z.strictObject({
  callersWait: z.enum(['auto', 'yes', 'no']).describe(
    "Whether calls wait for the agent's answer. auto: only while it is connected or a runner processes its messages",
  ),
  messageReplies: z.boolean().describe('Whether its plain replies are messages instead of task results'),
})

/** See docs/protocol/a2a.md, "Confirmation or task". */
const updateRoute = route({
  method: 'PATCH',
  path: '/api/v1/agents/{agent}',
  id: 'updateAgent',
  tag: 'Agents',
  summary: 'Change how A2A calls to an agent are answered',
  caller: 'admin',
  parameters: { agent: 'id or @alias of the agent' },
  body: settings.partial(),
  answers: {
    200: {
      description: 'The agent',
      json: settings.extend({ alias: z.string().describe("The agent's alias, with @") }),
    },
  },
  errors: ['invalid_input', 'agent_not_found', 'write_conflict', 'storage_full'],
  recordedAs: 'update_agent',
  async serve({ account, params, body }) {
    const { agent: { id, alias } } = await updateAgent(account, { ...body, agent: params.agent })
    const { callersWait, messageReplies } = await account.read.agentSettings.byId(id)
    return { alias: `@${alias}`, callersWait, messageReplies }
  },
})

/** See docs/clients.md, "Many sessions in one folder". */
const keyRoute = route({
  method: 'POST',
  path: '/api/v1/agents/{agent}/keys',
  id: 'addAgentKey',
  tag: 'Keys',
  summary: 'Create a key for an agent. If no agent of the account has this alias, create the agent too',
  caller: 'admin',
  parameters: { agent: 'id or @alias of the agent' },
  body: z.strictObject({
    name: z.string().meta({ minLength: 1, maxLength: 80 }).describe('What the key is for, such as "session on laptop"'),
  }),
  answers: {
    200: {
      description: 'Done',
      json: z.object({
        apiKey: z.string().describe('The key, shown once'),
        alias: z.string().describe("The agent's alias, with @"),
        isNew: z.boolean().describe('Whether this call created the agent'),
      }),
    },
  },
  errors: [
    ...['invalid_input', 'invalid_alias', 'alias_taken', 'alias_reserved', 'agent_not_found', 'not_allowed'] as const,
    ...['key_limit_reached', 'agent_limit_reached', 'write_conflict', 'storage_full'] as const,
  ],
  recordedAs: 'add_agent_key',
  async serve({ account, params, body }) {
    const { agent: { alias }, apiKey, isNew } = await addKeyOrAgent(account, { ...body, agent: params.agent })
    return { apiKey, alias: `@${alias}`, isNew }
  },
})

export const agentRoutes: Route[] = [updateRoute, keyRoute]
