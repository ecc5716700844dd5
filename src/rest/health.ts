/** Liveness and readiness, for supervisors and load balancers. See docs/protocol/rest.md, "Health". */
import { commit, version } from '../lib/version.ts'
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'

/** How long a database response is reused. */
const answerMs = 1_000

/** `/healthz`: responds if the process is alive. */
export function live(): Response {
  return Response.json({ status: 'ok' })
}

/**
 * `/readyz`: responds with success if the process is not stopping, its database responds, its disk has free space, and
 * it has the keys of the other processes.
 */
export function ready(store: Store): Handler {
  let answer: Promise<string[]>
  let answeredAt = -Infinity

  /** Returns the wrong keys of this process. Queries the database at most once a second and never concurrently. */
  async function wrongKeys(): Promise<string[]> {
    if (performance.now() - answeredAt >= answerMs) {
      answeredAt = Infinity
      answer = store.wrongKeys()
      answer.then(() => answeredAt = performance.now(), () => answeredAt = -Infinity)
    }
    return await answer
  }

  return async function ready() {
    if (store.deps.stopping?.aborted) return notReady('stopping', store)
    try {
      const [wrong] = await wrongKeys()
      const { problem } = store.storage
      if (problem !== undefined) return notReady('storage full', store, problem)
      const { isForeign, missing } = store.keyRing
      if (wrong !== undefined) {
        return notReady(
          'keys differ',
          store,
          `The key ${wrong} of this process differs from the key that the grid encrypts with.`,
        )
      }
      if (isForeign) {
        return notReady('keys differ', store, 'Other processes have encryption keys that this process lacks.')
      }
      const behind = store.loop.behind('conversations')
      return Response.json({
        status: 'ready',
        durability: store.durability,
        version,
        commit,
        // Number of stored messages not yet placed in conversations. A few are normal.
        ...(behind >= 1_000 && { messagesToPlace: behind }),
        ...(missing.length > 0 && { missingKeys: missing }),
        ...(store.deps.config.backupDir !== undefined && { backup: backupStatus(store) }),
      })
    } catch {
      return notReady('database unreachable', store)
    }
  }
}

/** Returns the times only. The reason for a failure is only logged, because it may contain paths. */
function backupStatus({ backups: { made, failed } }: Store) {
  const time = (at?: number) => at === undefined ? undefined : new Date(at).toISOString()
  return { madeAt: time(made?.at) ?? null, failedAt: time(failed?.at) }
}

function notReady(status: string, { durability }: Store, reason?: string): Response {
  return Response.json({ status, durability, reason }, { status: 503, headers: { 'Retry-After': '1' } })
}
