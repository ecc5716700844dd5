/** Runs guardrails on a message, and stores their verdicts with it. */
import { checkGuardrails } from '../message/check-guardrails.ts'
import type { Concern } from '../message/outgoing-message.ts'
import { refuseBeyondQuotas } from '../message/quota.ts'

export const guarded: Concern = {
  async review(outgoing) {
    if (outgoing.recipient.guards === 0) return undefined
    // Guardrails may call other services, so quotas are checked first.
    await refuseBeyondQuotas(outgoing.account, outgoing.recipient)
    return await checkGuardrails(outgoing)
  },
  plan: ({ message: { guarded } }) => guarded && { statements: guarded.statements },
}
