/** The extensions that requests can activate. See docs/protocol.md, "Grid routing extension". */
import type { Config } from '../config.ts'
import { awaitReply } from './await-reply.ts'
import { extensionUri } from './extension.ts'
import { gridRoutingUri } from './grid-routing.ts'
import { idempotency } from './idempotency.ts'

/** Activated: a send on the shared endpoint is answered with the task, after waiting for its recipient. */
export function awaitReplyUri(config: Config): string {
  return extensionUri(config, awaitReply)
}

/** Activated: the `messageId` of a send is its idempotency key. */
export function idempotencyUri(config: Config): string {
  return extensionUri(config, idempotency)
}

/** The URIs of all extensions that change an answer if a request activates them. */
export function extensionUris(config: Config): string[] {
  return [gridRoutingUri(config), awaitReplyUri(config), idempotencyUri(config)]
}
