import { openAccount } from '../grid/accounts/accounts.ts'
import { parkedMessages, requeueMessages } from '../grid/messaging/parked.ts'
import { isoTime } from '../lib/time.ts'
import { storeCommand } from './command.ts'
import { printList } from './tables.ts'
import { accountOption, agentOption, changeAccount } from './on-account.ts'

/** Those parked last first, at most 100. See docs/delivery.md, "Parked messages". */
export const listParkedMessagesCommand = storeCommand({
  name: 'list-parked-messages',
  summary: 'List the messages of an account that were set aside.',
  options: {
    account: accountOption,
  },
  async run(store, { account: id }) {
    const account = await openAccount(store, id, { type: 'system', job: 'list-parked-messages' })
    return {
      messages: (await parkedMessages(account)).map(({ id, alias, fromAlias, storedAt, parkedAt, returns }) => ({
        message_id: id,
        to: `@${alias}`,
        from: fromAlias === null ? null : `@${fromAlias}`,
        returns,
        stored_at: isoTime(storedAt),
        parked_at: isoTime(parkedAt),
      })),
    }
  },
  print: ({ messages }) =>
    printList(
      ['ID', 'To', 'From', 'Came back', 'Parked'],
      messages.map(({ message_id, to, from, returns, parked_at }) => [
        ...[message_id, to, from ?? 'another account', returns, parked_at],
      ]),
      { empty: 'No message of the account is parked.' },
    ),
})

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
