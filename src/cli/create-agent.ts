import { createAgent } from '../grid/agents/agents.ts'
import { describeAgentKey, printAgentKey } from './agent-key.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption } from './options.ts'

export const createAgentCommand = storeCommand({
  name: 'create-agent',
  summary: 'Create an agent with its key, and print what to paste into each client.',
  options: {
    account: accountOption,
    alias: {
      placeholder: 'ALIAS',
      description: '3 to 32 characters of a-z, 0-9 and -, unique on the grid',
      required: true,
    },
    type: {
      placeholder: 'TYPE',
      description: 'mcp (default), or a2a (needs --remote-url)',
      oneOf: ['mcp', 'a2a'],
    },
    visibility: {
      placeholder: 'VISIBILITY',
      description: 'private (default), or public: other accounts can find it',
      oneOf: ['private', 'public'],
    },
    'access-policy': {
      placeholder: 'POLICY',
      description: 'which agents of other accounts may write to it: auto_approve (default), allow_list or block_list',
      oneOf: ['auto_approve', 'allow_list', 'block_list'],
    },
    'access-list': { placeholder: 'ALIASES', description: 'the aliases on that allow or block list, comma-separated' },
    description: { placeholder: 'TEXT', description: 'what the agent does' },
    'remote-url': { placeholder: 'URL', description: 'URL of an agent of type a2a' },
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
    return describeAgentKey(store, agent, apiKey)
  },
  print: printAgentKey,
})
