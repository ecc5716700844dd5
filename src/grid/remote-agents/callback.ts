/**
 * Callbacks from remote agents, which make the grid poll immediately. See docs/protocol/remote-agents.md, "How messages
 * are sent".
 */
import { createHmac } from 'node:crypto'
import type { Config } from '../../config.ts'
import { parseAllowedTarget } from '../../lib/outbound/egress-policy.ts'
import { isSameSecret } from '../../lib/secrets.ts'
import type { Callback } from '../../remote/client.ts'
import type { Store } from '../../store/store.ts'

/** Returns a message's callback URL; undefined if agents cannot reach this grid. All attempts have the same token. */
export function callbackOf(config: Config, secret: string, message: string): Callback | undefined {
  if (!parseAllowedTarget(config.baseUrl, config)) return undefined
  return { url: `${config.baseUrl}/a2a/v1/callbacks/${message}`, token: tokenOf(secret, message) }
}

function tokenOf(secret: string, message: string): string {
  return createHmac('sha256', secret).update(message).digest('base64url')
}

/**
 * Polls the state of a message, because its agent reports news. The rest of the callback is ignored. Returns false if
 * no message has this id and token. A callback may arrive before the response to the message; in this case the response
 * is followed by a poll anyway.
 */
export async function calledBack(store: Store, message: string, token: string): Promise<boolean> {
  const { global: { outboxes }, deps } = store
  const found = await outboxes.callbacks(message)
  const called = found.find(({ callbackSecret }) => isSameSecret(tokenOf(callbackSecret, message), token))
  if (!called) return false
  await store.write([outboxes.lookNow(called, message, deps.now())])
  return true
}
