/** Stores a message, if its recipient takes one of this sender. `resolve` explains a refusal, as its retry reads again. */
import { requirePerson } from '../messaging/choices.ts'
import type { Concern } from '../messaging/outgoing-message.ts'
import { quotasOf } from '../messaging/quota.ts'

export const accepts: Concern = {
  review({ recipient, draft }) {
    if (draft.details?.choices) requirePerson(recipient)
    return undefined
  },
  plan: ({ account, recipient, message }) => ({
    statements: [recipient.store(message, quotasOf(account, recipient.inbox))],
  }),
}
