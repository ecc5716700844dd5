/** Liveness and readiness, for supervisors and load balancers. */
import type { Store } from '../store/store.ts'

/** The process answers. */
export function live(): Response {
  return Response.json({ status: 'ok' })
}

/** The process can serve: it is not stopping and its database answers. Says how durable an acknowledged message is. */
export async function ready(store: Store): Promise<Response> {
  if (store.deps.stopping?.aborted) return notReady('stopping', store)
  try {
    await store.ping()
    return Response.json({ status: 'ready', durability: store.durability })
  } catch {
    return notReady('database unreachable', store)
  }
}

function notReady(status: string, { durability }: Store): Response {
  return Response.json({ status, durability }, { status: 503, headers: { 'Retry-After': '1' } })
}
