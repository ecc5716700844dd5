/** `agent/getAuthenticatedExtendedCard` of A2A 0.3 and `GetExtendedAgentCard` of 1.0. */
import { endpointAlias } from './grid-routing.ts'
import type { MethodCall } from './method-call.ts'
import { ParamReader } from './param-reader.ts'

/**
 * The extended card of the endpoint or the tenant, in the version of the call. Fails with `invalid_input` or
 * `agent_not_found`.
 */
export function extendedCard({ account, aliases, codec, params, cards }: MethodCall): Promise<unknown> {
  const tenant = new ParamReader(params ?? {}, '').id('tenant')
  return cards.extendedCard(account, codec.version, endpointAlias(aliases, tenant))
}
