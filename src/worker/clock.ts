/** Notices a clock that jumped, before anything is removed by it. See docs/delivery.md, "Clocks". */
import { isStorageFull } from '../errors.ts'
import { day, minute } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/** A clock this far ahead of the stored time is not believed: a grid is rarely stopped for so long. */
const maxAheadMs = 30 * day
/** Processes of one database may differ by so much. */
const maxBehindMs = 5 * minute
const maxAccounts = 100

/**
 * Compare the clock with the time that was stored last. Resolves to whether old rows may be removed: then the time is
 * stored, and the trials that have expired by it are ended for good. A clock that is too far ahead changes nothing.
 * The log says what is wrong with a clock.
 */
export async function keepClock(store: Store): Promise<boolean> {
  const { global: { clock }, deps: { log, now } } = store
  const [at, storedAt] = [now(), await clock.storedAt()]
  const ahead = storedAt === undefined ? 0 : at - storedAt
  const times = { clock: iso(at), stored: iso(storedAt ?? at) }
  if (ahead > maxAheadMs) {
    log.error(
      'The clock is more than 30 days ahead of the time that was stored last, so nothing old is removed. ' +
        'Correct the clock, or confirm it with "agent-grid doctor --repair confirm-clock"',
      times,
    )
    return false
  }
  if (-ahead > maxBehindMs) log.warn('The clock is behind the time that was stored last', times)
  try {
    // What ended before the clock goes back stays ended. Not by the stored time: if that ran ahead, trials have begun since.
    await endTrials(store, at)
    await store.write([clock.advance(at)])
  } catch (error) {
    // The storage has said so, and the next call will do it.
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

/** Remove the copies next to the local file if the server, which runs since `startedAt`, has started well. */
export function removePreviousFiles(store: Store, startedAt: number): void {
  const { now, log } = store.deps
  if (now() - startedAt < goodStartMs) return
  for (const file of store.removePreviousFiles()) {
    log.info('The copy from before the migration was removed', { file })
  }
}
