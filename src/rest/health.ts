/** Liveness and readiness, for supervisors and load balancers. See docs/protocol.md, "Health". */
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'

/** `/healthz`: the process answers. */
export function live(): Response {
  return Response.json({ status: 'ok' })
}

/**
 * `/readyz`: the process is not stopping, its database answers, and its disk has space. Shows how durable an
 * acknowledged message is.
 */
export function ready(store: Store): Handler {
  return async function ready() {
    if (store.deps.stopping?.aborted) return notReady('stopping', store)
    try {
      await store.ping()
      const { problem } = store.storage
      if (problem !== undefined) return notReady('storage full', store, problem)
      return Response.json({ status: 'ready', durability: store.durability })
    } catch {
      return notReady('database unreachable', store)
    }
  }
}

function notReady(status: string, { durability }: Store, reason?: string): Response {
  return Response.json({ status, durability, reason }, { status: 503, headers: { 'Retry-After': '1' } })
}
