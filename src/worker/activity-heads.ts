/** Once a day the heads of the activity logs go where whoever rewrites the database does not reach. Security D3. */
import { day, minute } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

const perPage = 500
/** Most lines of one day. */
const maxHeads = 10_000
/** By how much a row's time may be older than its commit, on another machine's clock. */
const slackMs = 5 * minute

/**
 * Log one line for each account whose activity log grew since the last time, if that is a day ago. Rows that are
 * changed, moved or cut off later no longer lead to that hash. Several processes may log a line twice, none is left out.
 */
export async function logActivityHeads(store: Store, ended?: AbortSignal): Promise<void> {
  const { global: { activityHeads }, deps: { log, now } } = store
  const [at, loggedAt] = [now(), await activityHeads.loggedAt()]
  if (at - loggedAt < day) return

  let after = ''
  for (let count = 0; !ended?.aborted; count += perPage) {
    if (count === maxHeads) {
      log.warn('More activity logs grew than a day’s heads are logged of', { heads: maxHeads })
      break
    }
    const heads = await activityHeads.changed(loggedAt - slackMs, after, perPage)
    for (const { accountId, n, hash } of heads) log.info('Head of the activity log', { account: accountId, n, hash })
    if (heads.length < perPage) break
    after = heads[heads.length - 1].accountId
  }
  // Ended before the last line, it is all said again.
  if (!ended?.aborted) await store.write([activityHeads.noteLogged(at)])
}
