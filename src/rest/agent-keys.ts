/**
 * Agent keys: shows the caller, revokes a key, and creates a key for a signed-in client. See docs/protocol/rest.md,
 * "Keys".
 */
import * as z from 'zod'
import { callingAgent } from '../auth/actor.ts'
import { describeCaller, fetchAgentKey, revokeOwnKey } from '../grid/agents/agent-settings.ts'
import { isoTime } from '../lib/time.ts'
import { version } from '../lib/version.ts'
import type { AccountStore } from '../store/account.ts'
import { type Route, route } from './route.ts'

const namedKey = z.object({
  name: z.string().describe('What the key is for; may be empty'),
  last4: z.string().describe('The last four characters of the key'),
})

const aliasOf = ({ actor }: AccountStore) => ({ alias: `@${callingAgent(actor).alias}` })

export const agentKeyRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/oauth/api-key',
    id: 'fetchAgentKey',
    tag: 'Keys',
    summary: 'Fetch a static key for the agent that the client signed in as',
    description: 'The key replaces an earlier one with the same name that this client fetched. It is shown only once.',
    caller: 'agent access token',
    isOpenToPages: true,
    body: z.object({
      name: z.string().meta({ minLength: 1, maxLength: 80 }).optional()
        .describe('What the key is for, such as "claude on laptop". Default: the name of the client'),
    }),
    isBodyOptional: true,
    answers: {
      200: {
        description: 'Done',
        json: z.object({
          apiKey: z.string().describe('The key, shown once'),
          alias: z.string().describe("The agent's alias, with @"),
          agentId: z.string(),
          name: z.string().describe('The name of the key'),
        }),
      },
    },
    errors: ['invalid_input', 'key_limit_reached', 'write_conflict', 'storage_full'],
    recordedAs: 'fetch_agent_key',
    named: aliasOf,
    async serve({ account, body }) {
      const { agentId, alias, apiKey, name } = await fetchAgentKey(account, body)
      return { apiKey, alias: `@${alias}`, agentId, name }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/me',
    id: 'getCaller',
    tag: 'Keys',
    summary: 'Identify the agent and account of the key',
    caller: 'agent key',
    answers: {
      200: {
        description: 'Done',
        json: z.object({
          agent: z.string().describe("The agent's alias, with @"),
          account: z.string().describe("The name of the agent's account"),
          key: namedKey,
          grid: z.object({ version: z.string(), url: z.string().describe("The grid's URL") }),
          clock: z.iso.datetime().describe("The grid's current time"),
        }),
      },
    },
    async serve({ account }) {
      const { config, now } = account.deps
      const { alias, account: name, key } = await describeCaller(account)
      return { agent: `@${alias}`, account: name, key, grid: { version, url: config.baseUrl }, clock: isoTime(now()) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/key',
    id: 'revokeKey',
    tag: 'Keys',
    summary: 'Revoke the key that makes this call',
    caller: 'agent key',
    answers: { 200: { description: 'Done', json: z.object({ revoked: namedKey }) } },
    errors: ['write_conflict', 'storage_full'],
    recordedAs: 'revoke_own_key',
    named: aliasOf,
    serve: async ({ account }) => ({ revoked: await revokeOwnKey(account) }),
  }),
]
