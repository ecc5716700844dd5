/**
 * Stores a message if its recipient accepts this sender. `resolve` reads again before the retry and explains a refusal.
 */
import { requirePerson } from '../message/choices.ts'
import type { Concern } from '../message/outgoing-message.ts'
import { quotasOf } from '../message/quota.ts'

export const accepts: Concern = {
  review({ recipient, draft }) {
    if (draft.details?.choices) requirePerson(recipient)
    return undefined
  },
  plan: ({ account, recipient, message }) => ({
    statements: [recipient.store(message, quotasOf(account, recipient.inbox))],
  }),
}
