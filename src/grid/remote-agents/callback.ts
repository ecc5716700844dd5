/** Callbacks of remote agents: hints that the grid should look now. See docs/delivery.md, "Remote agents". */
import { createHmac } from 'node:crypto'
import type { Config } from '../../config.ts'
import { parseAllowedTarget } from '../../lib/outbound/egress-policy.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import type { Callback } from '../../remote/client.ts'
import type { Store } from '../../store/store.ts'

/** Where the agent tells of a message. Undefined if no agent can reach this grid. Each attempt has the same token. */
export function callbackOf(config: Config, secret: string, message: string): Callback | undefined {
  if (!parseAllowedTarget(config.baseUrl, config)) return undefined
  const token = createHmac('sha256', secret).update(message).digest('base64url')
  return { url: `${config.baseUrl}/a2a/v1/callbacks/${message}`, token }
}

/**
 * Ask what became of a message, because its agent says that there is something to see. What else the agent says is not
 * looked at. False if no message has this id and token.
 */
export async function calledBack(store: Store, message: string, token: string): Promise<boolean> {
  const { global: { remoteLines }, deps } = store
  const hash = hashForLookup(token)
  if (!await remoteLines.hasCallback(message, hash)) return false
  await store.write([remoteLines.lookNow(message, hash, deps.now())])
  store.waiting.notifier.notify([])
  return true
}
