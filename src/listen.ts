/**
 * Provides one `listen()` for Node, Deno and Bun. Only this file and its folder depend on the runtime.
 *
 * Deno also uses `node:http`, because `Deno.serve` has no request timeouts, accepts headers of any size, closes
 * connections that clients are about to reuse, and cannot report whether a response was delivered.
 */
import { type BunRuntime, listenOnBun } from './listen/bun.ts'
import type { FetchHandler, Listener, ListenOptions } from './listen/dispatcher.ts'
import { listenOnNode } from './listen/node.ts'

export type { Connection, FetchHandler, Listener, ListenOptions } from './listen/dispatcher.ts'

/** Serves on `host` and `port`. */
export function listen(fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { Bun } = globalThis as { Bun?: BunRuntime }
  if (Bun) return listenOnBun(Bun, fetch, options)
  return listenOnNode(fetch, options)
}
