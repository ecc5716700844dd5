/** How calls over A2A to an agent are answered. See docs/protocol/a2a.md, "Confirmation or task". */
import * as z from 'zod'
import { updateAgent } from '../grid/agents/agent-settings.ts'
import { type Route, route } from './route.ts'

const settings = z.strictObject({
  callersWait: z.enum(['auto', 'yes', 'no']).describe(
    'Whether calls wait for its answer; auto: while it is connected or a runner works on its messages',
  ),
  messageReplies: z.boolean().describe('Whether its plain replies are messages, not results of tasks'),
})

export const agentRoute: Route = route({
  method: 'PATCH',
  path: '/api/v1/agents/{agent}',
  id: 'updateAgent',
  tag: 'Agents',
  summary: 'Change how calls over A2A to an agent are answered',
  caller: 'admin',
  parameters: { agent: 'id or @alias of the agent' },
  body: settings.partial(),
  answers: {
    200: {
      description: 'The agent',
      json: settings.extend({ alias: z.string().describe('The alias of the agent, with @') }),
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
