/**
 * One `listen()` for Node, Deno and Bun. Only this file and its folder depend on the runtime.
 *
 * Deno is served by `node:http`, as Node is: `Deno.serve` has no time limits for requests, takes headers of any size,
 * closes connections that their clients use again, and cannot say what happened to an answer.
 */
import { type BunRuntime, listenOnBun } from './listen/bun.ts'
import type { FetchHandler, Listener, ListenOptions } from './listen/dispatcher.ts'
import { listenOnNode } from './listen/node.ts'

export type { Connection, FetchHandler, Listener, ListenOptions } from './listen/dispatcher.ts'

/** Serve on `host` and `port`. */
export function listen(fetch: FetchHandler, options: ListenOptions): Promise<Listener> {
  const { Bun } = globalThis as { Bun?: BunRuntime }
  if (Bun) return listenOnBun(Bun, fetch, options)
  return listenOnNode(fetch, options)
}
