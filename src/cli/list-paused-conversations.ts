import { openAccount } from '../grid/accounts/accounts.ts'
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
      conversations: (await account.read.turns.paused()).map((paused) => ({
        conversation_id: paused.key,
        agents: paused.agents.map((alias) => `@${alias}`),
        turns: paused.turns,
        paused_at: isoTime(paused.pausedAt),
      })),
    }
  },
  print: ({ conversations }) =>
    printList(
      ['ID', 'Agents', 'Count', 'Paused'],
      conversations.map((paused) => [
        paused.conversation_id,
        paused.agents.join(' '),
        paused.turns,
        paused.paused_at,
      ]),
      { empty: 'No conversation of the account is paused.' },
    ),
})
