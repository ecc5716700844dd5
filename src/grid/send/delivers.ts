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
 * Delivers a message, and hands an answer to the call that waits for it. A message addressed before anyone waited is no
 * answer, so only recipients that were already waiting are considered. See docs/conversations.md, "Asking".
 */
export function delivery({ change }: AccountStore, recipient: Recipient, message: ReviewedMessage): Statement[] {
  const { inbox, isWaiting = true } = recipient
  const isAnswer = isWaiting && !message.isInTaskAlone
  return [...recipient.deliver(message), ...isAnswer ? change.leases.takeAnswer(message, inbox) : []]
}
