/** Callbacks of remote agents: hints that the grid should look now. See docs/protocol/remote-agents.md, "How messages are sent". */
import { createHmac } from 'node:crypto'
import type { Config } from '../../config.ts'
import { parseAllowedTarget } from '../../lib/outbound/egress-policy.ts'
import { isSameSecret } from '../../lib/secrets.ts'
import type { Callback } from '../../remote/client.ts'
import type { Store } from '../../store/store.ts'

/** Where the agent tells of a message. Undefined if no agent can reach this grid. Each attempt has the same token. */
export function callbackOf(config: Config, secret: string, message: string): Callback | undefined {
  if (!parseAllowedTarget(config.baseUrl, config)) return undefined
  return { url: `${config.baseUrl}/a2a/v1/callbacks/${message}`, token: tokenOf(secret, message) }
}

function tokenOf(secret: string, message: string): string {
  return createHmac('sha256', secret).update(message).digest('base64url')
}

/**
 * Ask what happened to a message, because its agent says that there is something to see. What else the agent says is not
 * looked at. False if no message has this id and token. A callback may come before the answer to the message: then the
 * answer is followed by a look anyway.
 */
export async function calledBack(store: Store, message: string, token: string): Promise<boolean> {
  const { global: { outboxes }, deps } = store
  const found = await outboxes.callbacks(message)
  const called = found.find(({ callbackSecret }) => isSameSecret(tokenOf(callbackSecret, message), token))
  if (!called) return false
  await store.write([outboxes.lookNow(called, message, deps.now())])
  return true
}
