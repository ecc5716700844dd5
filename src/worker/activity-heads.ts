/**
 * Writes the heads of the activity logs to the process log once a day. A person with access to the database alone
 * cannot change them there. See docs/security.md, "Activity log".
 */
import { day, minute } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

const perPage = 500
/** Maximum number of lines a day. */
const maxHeads = 10_000
/** Row times come from the clocks of several machines, and are older than their commits. */
const maxClockSkewMs = 5 * minute

/**
 * If the last run was a day ago or more, log the head of each activity log that has grown since. If rows are changed,
 * moved or cut off later, the log no longer leads to that hash. Several processes may log a head twice, but omit none.
 */
export async function logActivityHeads(store: Store, signal?: AbortSignal): Promise<void> {
  const { global: { activityHeads }, deps: { log, now } } = store
  const [at, loggedAt] = [now(), await activityHeads.loggedAt()]
  if (at - loggedAt < day) return

  let after = ''
  for (let count = 0; !signal?.aborted; count += perPage) {
    if (count === maxHeads) {
      log.warn('Not all heads of activity logs were logged: too many', { heads: maxHeads })
      break
    }
    const heads = await activityHeads.changed(loggedAt - maxClockSkewMs, after, perPage)
    for (const { accountId, n, hash } of heads) log.info('Head of the activity log', { account: accountId, n, hash })
    if (heads.length < perPage) break
    after = heads[heads.length - 1].accountId
  }
  // After an abort, the next run logs everything again.
  if (!signal?.aborted) await store.write([activityHeads.setLoggedAt(at)])
}
