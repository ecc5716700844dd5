/** Answering a message with one click. See docs/conversations.md, "Choices". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { choicesOf } from '../message/choices.ts'
import type { SentMessage } from '../message/outgoing-message.ts'
import { callingPersonAlias } from '../people/person-aliases.ts'
import { choicesIn } from './choices.ts'
import { findThread, unknownConversation } from './threads.ts'
import { messageIn, replyToMessage } from './write.ts'

/**
 * Answers a message of a conversation with one of its choices, as the calling user. Only the first answer counts:
 * repeating the same choice changes nothing. The message then counts as read. Fails with `conversation_not_found`,
 * `message_not_found` or `already_answered`.
 */
export async function choose(
  account: AccountStore,
  threadId: number,
  { seq, index }: { seq: number; index: number },
): Promise<SentMessage> {
  if (!await findThread(account, threadId)) throw unknownConversation()
  const personAlias = await callingPersonAlias(account)
  const message = await messageIn(account, threadId, seq)
  const choice = choicesOf(message?.a2a ?? null)[index]
  if (!message || choice === undefined) throw closed()
  return await replyToMessage(account, {
    messageId: message.id,
    text: choice,
    parts: [{ data: { choice, index } }],
    idempotencyKey: `choice ${message.id} ${index}`,
    concern: {
      plan: ({ message: { at } }) => ({
        preconditions: [account.change.questions.requireOpen(personAlias.agentId, message.id, at)],
        statements: account.change.inbox.markRead(personAlias.agentId, [message.id], at),
        needsMessage: true,
        async explain() {
          const choices = (await choicesIn(account, [message])).get(seq)!
          if (choices.isOpen) return
          const { offered, chosen } = choices
          if (chosen === undefined) throw closed()
          throw new GridError('already_answered', `You have answered this already: ${offered[chosen]}`)
        },
      }),
    },
  })
}

function closed(): GridError {
  return new GridError('already_answered', 'This question is no longer open: it was answered, or has expired.')
}
