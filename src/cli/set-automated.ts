import { setAutomated } from '../grid/messaging/turns.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption, agentOption } from './options.ts'

/** See docs/delivery.md, "Conversations that run away". */
export const setAutomatedCommand = storeCommand({
  name: 'set-automated',
  summary: 'Mark an agent as automated: its conversations are never paused.',
  options: {
    account: accountOption,
    agent: agentOption,
    automated: { placeholder: 'YES', description: 'yes (default) or no', oneOf: ['yes', 'no'] },
  },
  async run(store, args) {
    const input = { agent: args.agent, isAutomated: args.automated !== 'no' }
    const { alias, isAutomated } = await changeAccount(
      store,
      'set-automated',
      { account: args.account, ...input },
      (account) => setAutomated(account, input),
    )
    return { alias: `@${alias}`, automated: isAutomated }
  },
  print: ({ alias, automated }) => `${alias} is ${automated ? 'marked as' : 'not'} automated.`,
})
