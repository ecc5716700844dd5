import { createAgent } from '../grid/agents/agents.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { table } from './table.ts'

/** The agent's key is shown here only. */
export const createAgentCommand = storeCommand({
  name: 'create-agent',
  summary: 'Make an agent of an account and its key.',
  options: {
    account: { takes: 'ID', doc: 'the account', required: true },
    alias: { takes: 'ALIAS', doc: '3 to 32 of a-z, 0-9 and -, unique on the grid', required: true },
    type: { takes: 'TYPE', doc: 'mcp (default), a2a (needs --remote-url) or human', oneOf: ['mcp', 'a2a', 'human'] },
    visibility: {
      takes: 'WORD',
      doc: 'private (default) or public: other accounts may find it',
      oneOf: ['private', 'public'],
    },
    'access-policy': {
      takes: 'WORD',
      doc: 'who of other accounts may write to a public agent: auto_approve (default), allow_list or block_list',
      oneOf: ['auto_approve', 'allow_list', 'block_list'],
    },
    'access-list': { takes: 'ALIASES', doc: 'comma-separated aliases of other accounts that the policy lists' },
    description: { takes: 'TEXT', doc: 'what the agent does' },
    'remote-url': { takes: 'URL', doc: 'address of an agent of type a2a' },
  },
  async run(store, args) {
    const input = {
      alias: args.alias,
      type: args.type,
      visibility: args.visibility,
      accessPolicy: args['access-policy'],
      accessList: args['access-list']?.split(',').filter((alias) => alias.trim() !== ''),
      description: args.description,
      remoteUrl: args['remote-url'],
    }
    const { agent, apiKey } = await changeAccount(
      store,
      'create-agent',
      { account: args.account, ...input },
      (account) => createAgent(account, input),
    )
    return { agent_id: agent.id, alias: `@${agent.alias}`, api_key: apiKey }
  },
  print: (agent) =>
    table([['Agent', agent.alias], ['Id', agent.agent_id], ['Key', agent.api_key]]) + '\nThe key is shown here only.',
})
