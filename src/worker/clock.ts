/** Detects clock jumps before data is removed because of them. See docs/delivery.md, "Clocks". */
import { isStorageFull } from '../errors.ts'
import { day, minute } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/** A clock that is further ahead of the stored time is not trusted, because a grid is rarely stopped for so long. */
const maxAheadMs = 30 * day
/** Maximum clock difference between processes that share a database. */
const maxBehindMs = 5 * minute
const maxAccounts = 100

/**
 * Compares the clock with the stored time. Resolves to whether old rows may be removed. If so, stores the time and
 * permanently ends the trials that have expired. Changes nothing if the clock is too far ahead. Logs clock problems.
 */
export async function keepClock(store: Store): Promise<boolean> {
  const { global: { clock }, deps: { log, now } } = store
  const [at, storedAt] = [now(), await clock.storedAt()]
  const ahead = storedAt === undefined ? 0 : at - storedAt
  const times = { clock: iso(at), stored: iso(storedAt ?? at) }
  if (ahead > maxAheadMs) {
    log.error(
      'The clock is more than 30 days ahead of the last stored time, so no old data is removed. ' +
        'Correct the clock, or confirm it with "agent-grid doctor --repair confirm-clock"',
      times,
    )
    return false
  }
  if (-ahead > maxBehindMs) log.warn('The clock is behind the last stored time', times)
  try {
    // Trials stay ended even if the clock is set back. The stored time is not used here, because if it was ahead,
    // trials may have begun since.
    await endTrials(store, at)
    await store.write([clock.advance(at)])
  } catch (error) {
    // The storage layer has logged this error, and the next call retries.
    if (!isStorageFull(error)) throw error
  }
  return true
}

async function endTrials(store: Store, at: number): Promise<void> {
  for (;;) {
    const accounts = await store.global.clock.accountsWithTrials(at, maxAccounts)
    if (accounts.size === 0) return
    for (const id of accounts) {
      const account = store.account(id, { type: 'system', job: 'clock' })
      await account.write([account.change.agents.endTrials(at, at)])
    }
  }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

const goodStartMs = day

/** Removes pre-migration copies of the local file once the server, running since `startedAt`, has proved stable. */
export function removePreviousFiles(store: Store, startedAt: number): void {
  const { now, log } = store.deps
  if (now() - startedAt < goodStartMs) return
  for (const file of store.removePreviousFiles()) {
    log.info('The copy from before the migration was removed', { file })
  }
}
