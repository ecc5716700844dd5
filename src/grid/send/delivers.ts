/** Delivers a message that is not held. */
import type { AccountStore } from '../../store/account.ts'
import type { ReviewedMessage } from '../../store/account/new-message.ts'
import type { Statement } from '../../store/sql.ts'
import type { Concern, Recipient } from '../message/outgoing-message.ts'

export const delivers: Concern = {
  plan: ({ account, recipient, message }) =>
    message.held ? undefined : { statements: delivery(account, recipient, message) },
}

/**
 * Delivers a message, and gives an answer to who waits for it. What was addressed before anyone waited is no answer, so
 * only a recipient that was waiting by then is looked at. See docs/conversations.md, "Asking".
 */
export function delivery({ change }: AccountStore, recipient: Recipient, message: ReviewedMessage): Statement[] {
  const { inbox, isWaiting = true } = recipient
  const isAnswer = isWaiting && !message.isInTaskAlone
  return [...recipient.deliver(message), ...isAnswer ? change.leases.takeAnswer(message, inbox) : []]
}
