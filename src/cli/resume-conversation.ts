import { resumeConversation } from '../grid/messaging/turns.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption } from './options.ts'

/** See docs/delivery.md, "Conversations that run away". */
export const resumeConversationCommand = storeCommand({
  name: 'resume-conversation',
  summary: 'Let a paused conversation go on.',
  options: {
    account: accountOption,
    conversation: { placeholder: 'ID', description: 'ID from list-paused-conversations', required: true },
  },
  async run(store, args) {
    const { key, agents } = await changeAccount(
      store,
      'resume-conversation',
      { account: args.account, id: args.conversation },
      (account) => resumeConversation(account, args.conversation),
    )
    return { resumed: true, conversation_id: key, agents: agents.map((alias) => `@${alias}`) }
  },
  print: ({ agents }) => `The conversation of ${agents.join(', ')} goes on.`,
})
