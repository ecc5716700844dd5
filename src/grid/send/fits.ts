/**
 * Counts a message against its account's daily quota. Comes right after `accepts`, whose statement checks the quotas.
 */
import type { Concern } from '../message/outgoing-message.ts'
import { countMessage, refuseBeyondQuotas } from '../message/quota.ts'

export const fits: Concern = {
  plan: ({ account, recipient, message }) => ({
    statements: countMessage(account, recipient, message, recipient.inboxes),
    explain: () => refuseBeyondQuotas(account, recipient),
  }),
}
