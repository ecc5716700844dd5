import { openAccount } from '../grid/accounts/accounts.ts'
import { pausedConversations } from '../grid/messaging/conversations.ts'
import { isoTime } from '../lib/time.ts'
import { storeCommand } from './command.ts'
import { printList } from './list-page.ts'
import { accountOption } from './options.ts'

/** The newest first, at most 50. See docs/delivery.md, "Conversations that run away". */
export const listPausedConversationsCommand = storeCommand({
  name: 'list-paused-conversations',
  summary: 'List the conversations of an account that ran away and are paused.',
  options: {
    account: accountOption,
  },
  async run(store, { account: id }) {
    const account = await openAccount(store, id, { type: 'system', job: 'list-paused-conversations' })
    return {
      conversations: (await pausedConversations(account)).map((paused) => ({
        conversation_id: paused.id,
        agents: paused.agents.map((alias) => `@${alias}`),
        reason: paused.reason,
        turns: paused.turns,
        hops: paused.hops,
        paused_at: isoTime(paused.pausedAt),
      })),
    }
  },
  print: ({ conversations }) =>
    printList(
      ['ID', 'Agents', 'Reason', 'Count', 'Paused'],
      conversations.map((paused) => [
        paused.conversation_id,
        paused.agents.join(' '),
        paused.reason,
        paused.reason === 'hops' ? paused.hops : paused.turns,
        paused.paused_at,
      ]),
      { empty: 'No conversation of the account is paused.' },
    ),
})
