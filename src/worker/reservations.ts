/** Ends or extends expired reservations. See docs/protocol/reservations.md, "Their end". */
import { GridError } from '../errors.ts'
import { endDue } from '../grid/reservations/end-reservations.ts'
import type { Store } from '../store/store.ts'

/** Maximum number of reservations ended per run. */
const maxEnded = 500

/** Ends or extends reservations. Safe in several processes: only one unit can end a reservation; others fail. */
export async function lookAtReservations(store: Store): Promise<void> {
  const { deps: { now, log }, global: { reservations } } = store
  const calls = store.presences.takeCalls()
  const areOf = calls.length > 0 && await reservations.areOf(calls)
  const isAnyDue = (await reservations.ended(now(), 1)).length > 0
  const changes = [...areOf ? [reservations.noteCalls(calls)] : [], ...isAnyDue ? [reservations.goOn(now())] : []]
  if (changes.length > 0) await store.write(changes)
  for (const { accountId, ids, isDone } of isAnyDue ? await reservations.ended(now(), maxEnded) : []) {
    try {
      await endDue(store.account(accountId, { type: 'system', job: 'reservations' }), ids, isDone === 1)
    } catch (error) {
      const isEnded = error instanceof GridError && error.code === 'write_conflict'
      if (!isEnded) log.warn('Reservations could not be ended', { error, account: accountId })
    }
  }
}
