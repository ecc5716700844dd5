/** Liveness and readiness, for supervisors and load balancers. */
import type { Store } from '../store/store.ts'

/** The process answers. */
export function live(): Response {
  return Response.json({ status: 'ok' })
}

/** The process can serve: its database answers. Says how durable an acknowledged message is. */
export async function ready(store: Store): Promise<Response> {
  try {
    await store.ping()
    return Response.json({ status: 'ready', durability: store.durability })
  } catch {
    return Response.json({ status: 'database unreachable', durability: store.durability }, {
      status: 503,
      headers: { 'Retry-After': '1' },
    })
  }
}
