import { requeueMessages } from '../grid/messaging/parked.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption, agentOption } from './options.ts'

/** See docs/delivery.md, "Parked messages". */
export const requeueMessagesCommand = storeCommand({
  name: 'requeue-messages',
  summary: 'Make parked messages of an agent unread again.',
  options: {
    account: accountOption,
    agent: agentOption,
    message: {
      placeholder: 'ID',
      description: 'ID from list-parked-messages; without it, all (at most 500 at a time)',
    },
  },
  async run(store, { account, agent, message }) {
    const input = { agent, ...(message !== undefined && { messageId: message }) }
    const { alias, requeued, left } = await changeAccount(
      store,
      'requeue-messages',
      { account, ...input },
      (account) => requeueMessages(account, input),
    )
    return { agent: `@${alias}`, requeued, left }
  },
  print: ({ agent, requeued, left }) =>
    `${agent} has ${requeued} ${requeued === 1 ? 'message' : 'messages'} to read again.` +
    (left > 0 ? ` ${left} more are parked.` : ''),
})
