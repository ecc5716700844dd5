/** `agent/getAuthenticatedExtendedCard` of A2A 0.3 and `GetExtendedAgentCard` of 1.0. */
import type { MethodCall } from './method-call.ts'

/** The extended card, in the version of the call. Nothing in `params` matters. */
export function extendedCard({ account, codec, cards }: MethodCall): Promise<unknown> {
  return cards.extendedCard(account, codec.version)
}
