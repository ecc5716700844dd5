/** Looking at what waits in an inbox, without changing anything. */
import { callingAgent } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import { asGridMessage, budgetOf, fitting, type GridMessage, type PageSize, rendered } from './inbox-message.ts'

/** A message without what it says. */
export type MessageSummary = Pick<
  GridMessage,
  | 'message_id'
  | 'user'
  | 'channel'
  | 'type'
  | 'conversation_id'
  | 'reply_to_message_id'
  | 'timestamp'
  | 'redelivered'
>

/** The oldest unread messages of an agent. */
export interface InboxPeek<Message> {
  /** With `@`. */
  agent: string
  /** How many are unread; 100 stands for 100 or more. */
  unread: number
  /** Oldest first. What cannot be shown is left out. */
  messages: Message[]
  /** Whether more are unread than these. */
  has_more: boolean
  /** Whether a person attends the agent, through any stream of it. */
  presence: { attended: boolean }
}

/** The unread messages that the next read would lease. Fails with `wrong_credential`. */
export async function peekInbox(account: AccountStore, input: PageSize): Promise<InboxPeek<GridMessage>> {
  const budget = budgetOf(input)
  return await peek(account, budget.limit, (found) => {
    const page = fitting(found.slice(0, budget.limit), budget)
    const { messages } = rendered(page, (message, introducesSender) => {
      return asGridMessage(message, { maxChars: budget.maxChars, introducesSender })
    })
    return { messages, seen: page.length }
  })
}

/** The same, without what the messages say, so that a page is short. Fails with `wrong_credential`. */
export async function summarizeInbox(
  account: AccountStore,
  input: Pick<PageSize, 'limit'>,
): Promise<InboxPeek<MessageSummary>> {
  const { limit } = budgetOf(input)
  return await peek(account, limit, (found) => {
    const page = found.slice(0, limit)
    const { messages } = rendered(page, (message) => asGridMessage(message, { maxChars: 1, introducesSender: false }))
    return { messages: messages.map(summaryOf), seen: page.length }
  })
}

async function peek<Message>(
  account: AccountStore,
  limit: number,
  show: (found: Awaited<ReturnType<AccountStore['read']['inbox']['nextUnread']>>) => {
    messages: Message[]
    seen: number
  },
): Promise<InboxPeek<Message>> {
  const { agentId, alias } = callingAgent(account.actor)
  const { read: { inbox }, waiting: { presence } } = account
  // One more than asked for tells whether there is more.
  const [unread, found] = await Promise.all([inbox.unread(agentId), inbox.nextUnread(agentId, limit + 1)])
  const { messages, seen } = show(found)
  return {
    agent: `@${alias}`,
    unread,
    messages,
    has_more: found.length > seen,
    presence: { attended: presence.at(agentId)?.state === 'attended' },
  }
}

function summaryOf(message: GridMessage): MessageSummary {
  const { message_id, user, channel, type, conversation_id, reply_to_message_id, timestamp, redelivered } = message
  return {
    message_id,
    user,
    channel,
    type,
    ...(conversation_id !== undefined && { conversation_id }),
    ...(reply_to_message_id !== undefined && { reply_to_message_id }),
    timestamp,
    ...(redelivered && { redelivered }),
  }
}
