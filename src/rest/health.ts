/** Liveness and readiness, for supervisors and load balancers. See docs/protocol/rest.md, "Health". */
import { commit, version } from '../lib/version.ts'
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'

/** How long an answer from the database is reused. */
const answerMs = 1_000

/** `/healthz`: the process responds. */
export function live(): Response {
  return Response.json({ status: 'ok' })
}

/**
 * `/readyz`: the process is not stopping, its database answers, its disk has space, and it has the other processes'
 * keys.
 */
export function ready(store: Store): Handler {
  let answer: Promise<string[]>
  let answeredAt = -Infinity

  /** Asks the database which keys are wrong: once a second at most, and never concurrently. */
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
        // Stored messages that have not been placed in conversations yet; a few are normal.
        ...(behind >= 1_000 && { messagesToPlace: behind }),
        ...(missing.length > 0 && { missingKeys: missing }),
        ...(store.deps.config.backupDir !== undefined && { backup: backupStatus(store) }),
      })
    } catch {
      return notReady('database unreachable', store)
    }
  }
}

/** The reason for a failure is only logged, because it may contain paths. */
function backupStatus({ backups: { made, failed } }: Store) {
  const time = (at?: number) => at === undefined ? undefined : new Date(at).toISOString()
  return { madeAt: time(made?.at) ?? null, failedAt: time(failed?.at) }
}

function notReady(status: string, { durability }: Store, reason?: string): Response {
  return Response.json({ status, durability, reason }, { status: 503, headers: { 'Retry-After': '1' } })
}
